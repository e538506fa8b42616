import ArgumentParser
import PowerSyncTerminal
import PowerSyncProtocol
import PowerSyncService

/// `powersync token --user u1`: signs a development token with a key of the service's configuration.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Sign a development token for a user, with a secret of a service configuration.",
        discussion: """
            Takes the first symmetric key of client_auth.jwks, or else supabase_jwt_secret. Prints the token alone, so that it can be used \
            in scripts: TOKEN=$(powersync token --user u1 --claim org_id=7)
            """
    )

    @Option(help: "The user id, the `sub` claim of the token.")
    var user: String

    @Option(
        help: ArgumentHelp(
            "Another claim of the token; the value is JSON, or else a text. May be repeated.",
            valueName: "name=value"
        )
    )
    var claim: [String] = []

    @OptionGroup var config: ConfigurationOptions

    @Option(help: "How long the token is valid, in seconds; a service accepts at most 86400.")
    var lifetime: Int = 12 * 60 * 60

    func validate() throws {
        guard lifetime > 0, lifetime <= 86_400 else {
            throw ValidationError("--lifetime must be between 1 and 86400 seconds, got \(lifetime)")
        }
    }

    func run() async throws {
        let configuration = try config.read()
        let claims = try JSONObject(pairs: claim, option: "--claim")
        try StandardOutput.print(
            configuration.makeDevelopmentToken(userID: user, claims: claims, lifetime: .seconds(lifetime))
        )
    }
}
