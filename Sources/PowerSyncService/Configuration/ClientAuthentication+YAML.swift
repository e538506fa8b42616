import Foundation
import PowerSyncAuth
import PowerSyncServiceCore

/// Reads `client_auth` of a configuration file.
extension ClientAuthentication {
    /// Reads the section; what is wrong is in the findings of the document.
    ///
    /// - Parameters:
    ///   - root: The file.
    ///   - supabaseProject: The project whose database is the source.
    ///   - knowsSource: Whether the source could be read.
    init(_ root: inout YAMLSection, supabaseProject: String?, knowsSource: Bool) {
        self.init()
        guard var section = root.section("client_auth") else {
            if !root.contains("client_auth") { root.note("client_auth: missing, every client is rejected") }
            return
        }
        readKeySets(&section)
        readSupabase(&section, project: supabaseProject, knowsSource: knowsSource)
        rejectedKeySetAddresses = section.strings("jwks_reject_ip_ranges") ?? []
        if section.boolean("block_local_jwks") == true {
            rejectedKeySetAddresses.append("local")
            rejectsIPv6KeySets = true
        }
        audience = section.strings("audience", as: .name) ?? []
        if var jwks = section.section("jwks") {
            for var key in jwks.sections("keys") ?? [] {
                if let key = Self.readKey(&key) { keys.append(key) }
            }
            jwks.finish()
        }
        section.finish()
        do {
            try checkKeySources()
        } catch {
            section.fail(error.key.map { String($0.split(separator: ".").last ?? "") }, error.message)
        }
        if !hasKeys {
            root.note("client_auth: no keys, every client is rejected")
        } else if audience.isEmpty, !hasSupabaseKeys {
            root.note("client_auth.audience: empty, every client is rejected")
        }
    }

    private mutating func readKeySets(_ section: inout YAMLSection) {
        for text in section.strings("jwks_uri", as: .name) ?? [] {
            guard let url = URL(string: text) else {
                section.fail("jwks_uri", "not a URL; write https://id.example.com/.well-known/jwks.json")
                continue
            }
            guard url.user(percentEncoded: false) == nil, url.password(percentEncoded: false) == nil else {
                section.fail(
                    "jwks_uri",
                    "has a user or a password, which are not sent; a key set is public: leave them out"
                )
                continue
            }
            keySets.append(url)
        }
    }

    private mutating func readSupabase(_ section: inout YAMLSection, project: String?, knowsSource: Bool) {
        let isSupabase = section.boolean("supabase") == true
        let secret = section.string("supabase_jwt_secret", as: .secret)
        guard isSupabase else {
            if secret != nil { section.warn("supabase_jwt_secret", "no effect without supabase: true") }
            return
        }
        (supabaseSecret, supabaseProject) = (secret, project)
        guard !hasSupabaseKeys, knowsSource, !section.contains("supabase_jwt_secret") else { return }
        if keySets.isEmpty {
            section.fail(
                "supabase",
                "the host of the source is not db.<reference>.supabase.co, so the project is not known; give "
                    + "jwks_uri: https://<reference>.supabase.co/auth/v1/.well-known/jwks.json and "
                    + "audience: [authenticated], or supabase_jwt_secret for a project that signs with a secret"
            )
        } else {
            section.warn("supabase", "no effect: the host of the source is not db.<reference>.supabase.co")
        }
    }

    /// Reads a JSON Web Key; `nil` for one that is wrong, or not for signatures of others.
    private static func readKey(_ section: inout YAMLSection) -> ClientKey? {
        var members: [String: String] = [:]
        for name in ["kty", "alg", "n", "e", "crv", "x", "y"] { members[name] = section.string(name) }
        members["kid"] = section.string("kid", as: .name)
        let secret = section.string("k", as: .secret)
        members["k"] = secret
        let use = section.string("use")
        let operations = section.strings("key_ops")
        section.finish(isOpen: true)
        // RFC 7517, 4.2 and 4.3.
        if let use, use != "sig" {
            section.warn(
                "use",
                "\"\(use)\" is not for signatures, so that the key verifies none; write sig, or leave it out"
            )
            return nil
        }
        if let operations, !operations.contains(where: { $0 == "verify" }) {
            section.warn(
                "key_ops",
                "verify is not among them, so that the key verifies nothing; add it, or leave key_ops out"
            )
            return nil
        }
        // What is there and wrong has been said.
        if members["kty"] == "oct", secret == nil, section.contains("k") { return nil }
        do {
            return ClientKey(key: try JSONWebKey(members: members))
        } catch {
            section.fail(
                error.member,
                error.message,
                code: error.isUnsupported ? .unsupported : .invalidConfiguration
            )
            return nil
        }
    }
}
