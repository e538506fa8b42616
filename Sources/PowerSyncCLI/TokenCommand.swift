import ArgumentParser
import Foundation
import PowerSyncService

/// `powersync token --user u1`: signs a development token with a key of the service's configuration.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Sign a development token for a user, with the first symmetric key of a service configuration.",
        discussion: "Prints the token alone, so that it can be used in scripts: TOKEN=$(powersync token --user u1)"
    )

    @Option(help: "The user id, the `sub` claim of the token.")
    var user: String

    @Option(help: "The service configuration with the key.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String = "powersync.yaml"

    @Option(help: "How long the token is valid, in seconds; a service accepts at most 86400.")
    var lifetime: Int = 12 * 60 * 60

    func validate() throws {
        guard lifetime > 0, lifetime <= 86_400 else {
            throw ValidationError("--lifetime must be between 1 and 86400 seconds, got \(lifetime)")
        }
    }

    func run() async throws {
        let configuration = try ServiceConfiguration(
            contentsOf: config,
            environment: ProcessInfo.processInfo.environment
        )
        print(try configuration.makeDevelopmentToken(userID: user, lifetime: .seconds(lifetime)))
    }
}
