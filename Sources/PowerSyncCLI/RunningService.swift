import ArgumentParser
import Foundation
import PowerSyncOperations
import PowerSyncService
import PowerSyncTerminal

/// Where a running service is asked, and with which token of `api.tokens`: `status` and `validate`.
enum RunningService {
    /// Finds the service.
    ///
    /// - Parameters:
    ///   - url: The address of a service elsewhere; the token is that of the environment variable PS_ADMIN_TOKEN then.
    ///   - option: The option that has the address, for errors.
    ///   - configuration: Reads the configuration of a service on this machine, and gives the name of it.
    /// - Returns: What asks the service.
    /// - Throws: `ValidationError`, `UnreadableFile`, or what `configuration` throws.
    static func find(
        at url: String?,
        option: String = "--url",
        configuration: () throws -> (configuration: ServiceConfiguration, name: String)
    ) throws -> AdminRequest {
        let variable = ProcessInfo.processInfo.environment["PS_ADMIN_TOKEN"]?.withoutLineEnd
        // One that is empty counts as one that is not set.
        let known = variable.flatMap { $0.isEmpty ? nil : $0 }
        if let url {
            // It is shown with what was found.
            guard !url.contains("@") else {
                throw ValidationError("\(option) has a user or a password, which nobody asks for; leave them out")
            }
            guard let parsed = URL(string: url), ["https", "http"].contains(parsed.scheme?.lowercased()),
                parsed.host(percentEncoded: false)?.isEmpty == false
            else {
                throw ValidationError("\(option) is not an address such as https://sync.example.com: \(url)")
            }
            guard let known else {
                throw ValidationError(
                    "\(option) needs a token of the service in the environment variable PS_ADMIN_TOKEN"
                )
            }
            let address = url.hasSuffix("/") ? String(url.dropLast()) : url
            return AdminRequest(address: address, token: known, isLocal: false)
        }
        let (configuration, name) = try configuration()
        guard let token = configuration.admin.tokens.first ?? known else {
            throw UnreadableFile("\(name) has no api.tokens: the service answers nobody; give it one and restart it")
        }
        return AdminRequest(address: configuration.localURL, token: token, isLocal: true)
    }
}
