import PowerSyncService
import Foundation
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

extension Doctor {
    /// How far the clock may be off before tokens are refused: the tolerance of their check, in seconds.
    private static let clockTolerance = 60.0
    /// The difference from which on there is a warning: answers of HTTP tell whole seconds, and take some.
    private static let clockNoise = 5.0

    /// Looks at the keys that clients' tokens are checked with.
    func checkKeys(_ authentication: ClientAuthentication, _ findings: inout [Finding]) async throws {
        do {
            try await authentication.checkKeys()
        } catch {
            return findings.fail(.keys, error)
        }
        for key in authentication.keys.map(\.key) { describe(key, "client_auth.jwks.keys", &findings) }
        if authentication.supabaseSecret != nil { findings.ok(.keys, "HS256, the secret of Supabase") }
        for (client, rules) in authentication.keySetClients(clock: ContinuousClock()) {
            try Task.checkCancellation()
            var client = client
            client.retriesConnecting = false
            let (url, isOfProject) = (client.url, rules == .supabase)
            do {
                let fetched = try await client.fetch()
                let (keys, leftOut) = (fetched.document.keys, fetched.document.leftOut)
                if keys.isEmpty, isOfProject, authentication.supabaseSecret != nil {
                    findings.ok(.keys, "no keys: the project signs with its secret", place: url.absoluteString)
                } else if keys.isEmpty {
                    findings.fail(
                        .keys,
                        (["the key set has no key that can verify tokens"] + leftOut.prefix(3).map(\.description))
                            .joined(separator: "; "),
                        place: url.absoluteString,
                        remedy:
                            "It needs keys of the type RSA, EC or OKP for signatures; secrets (oct) in it are ignored."
                    )
                } else {
                    for key in leftOut {
                        findings.ok(.keys, "not used: \(key)", place: url.absoluteString)
                    }
                }
                for key in keys { describe(key, url.absoluteString, &findings) }
                if let text = fetched.date { checkClock(against: text, of: url.absoluteString, &findings) }
            } catch {
                findings.fail(
                    .keys,
                    [error.description, error.logDetails].compactMap { $0 }.joined(separator: ": "),
                    place: url.absoluteString,
                    remedy: isOfProject
                        ? "Check the reference of the project, and that this machine can reach the server."
                        : "Check client_auth.jwks_uri, and that this machine can reach the server."
                )
            }
        }
        if !authentication.audience.isEmpty {
            findings.ok(.keys, "tokens need the audience \(authentication.audience.joined(separator: " or "))")
        }
    }

    private func describe(_ key: JSONWebKey, _ place: String, _ findings: inout [Finding]) {
        let name = [key.algorithm?.rawValue ?? key.type.rawValue, key.id.map { "kid \($0)" } ?? "without kid"]
            .joined(separator: ", ")
        if let bits = key.tooShortModulus {
            findings.fail(
                .keys,
                "\(name): the key has \(bits) bits, and tokens signed with fewer than \(JSONWebKey.minimumModulusBits) are refused",
                place: place,
                remedy: "Let the identity provider sign with a longer key."
            )
        } else {
            findings.ok(.keys, name, place: place)
        }
    }

    /// Compares the clock of this machine with that of a server.
    ///
    /// - Parameters:
    ///   - text: The `Date` header of an answer that has just come.
    ///   - server: The server that has sent it.
    ///   - findings: Gets what is wrong.
    func checkClock(against text: String, of server: String, _ findings: inout [Finding]) {
        let now = now().timeIntervalSince1970
        guard let date = HTTPDate(text, now: Int64(now)) else { return }
        let difference = now - TimeInterval(date.seconds)
        guard abs(difference) > Self.clockNoise else {
            return findings.ok(.clock, "as that of the server", place: server)
        }
        let message =
            "the clock of this machine is \(Int(abs(difference))) s \(difference > 0 ? "ahead of" : "behind") that of the server"
        let remedy =
            "Synchronise both clocks (timedatectl set-ntp true); a token is refused when they differ by a minute."
        if abs(difference) > Self.clockTolerance {
            findings.fail(.clock, message, place: server, remedy: remedy)
        } else {
            findings.warn(.clock, message, place: server, remedy: remedy)
        }
    }
}
