public import Foundation
import PowerSyncProtocol
import PowerSyncServiceCore
package import PowerSyncAuth

/// How clients' tokens are checked.
public struct ClientAuthentication: Sendable {
    /// The keys, in the order in which they are tried.
    public var keys: [ClientKey] = []
    /// Where to fetch more keys (JSON Web Key Sets, RFC 7517), with `https` or `http`.
    ///
    /// They are fetched when tokens are checked, and again after five minutes, or when a token names a key that is not known.
    /// Secrets in them are ignored.
    public var keySets: [URL] = []
    /// The JWT secret of a Supabase project, of those that still sign with one.
    ///
    /// Its tokens have the audience `authenticated`, whatever ``audience`` says, and may be valid for a week.
    public var supabaseSecret: String?
    /// The reference of a Supabase project that signs with keys of its own: `abcdefghijklmnopqrst`, as in the host of its database,
    /// `db.abcdefghijklmnopqrst.supabase.co`.
    ///
    /// Its key set is fetched from `https://<reference>.supabase.co/auth/v1/.well-known/jwks.json`, after those of ``keySets``. Its
    /// tokens have the audience `authenticated`, whatever ``audience`` says, and may be valid for a week.
    public var supabaseProject: String?
    /// Address ranges that key sets must not come from, such as `10.0.0.0/8`; `local` stands for this machine and its networks.
    ///
    /// Where others can choose ``keySets``, it keeps them from reaching what only this machine can.
    public var rejectedKeySetAddresses: [String] = []
    /// Whether key sets must not come from servers with IPv6.
    public var rejectsIPv6KeySets = false
    /// The audiences that tokens may have.
    ///
    /// With none, every token is rejected.
    public var audience: [String] = []

    /// Creates an authentication without keys, which rejects every token.
    public init() {}
}

/// A key that verifies clients' tokens.
public struct ClientKey: Sendable {
    package let key: JSONWebKey

    /// A shared secret for HS256.
    ///
    /// - Parameters:
    ///   - secret: The bytes of the secret, at least 32 for real use.
    ///   - id: The key id (`kid`). A key without one is tried for every HS256 token whose own `kid` is unknown.
    /// - Returns: The key.
    public static func hs256(secret: [UInt8], id: String?) -> ClientKey {
        ClientKey(key: JSONWebKey(id: id, algorithm: .hs256, material: .symmetric(secret)))
    }

    /// A JSON Web Key (RFC 7517) of type `oct`, `RSA`, `EC` or `OKP`; all but `RSA` need `alg`, and `RSA` needs `kid`.
    ///
    /// - Parameter json: The key as JSON text.
    /// - Returns: The key.
    /// - Throws: `ServiceError` with code `invalidConfiguration` when a member is missing or wrong, `unsupported` for
    ///   the curve Ed448.
    public static func jwk(json: String) throws(ServiceError) -> ClientKey {
        do {
            return ClientKey(key: try JSONWebKey(json: json))
        } catch {
            throw ServiceError(
                error.isUnsupported ? .unsupported : .invalidConfiguration,
                error.message,
                key: error.member
            )
        }
    }
}

extension ClientAuthentication {
    /// Whether there is anything that could verify a token.
    var hasKeys: Bool { !keys.isEmpty || !keySets.isEmpty || hasSupabaseKeys }

    /// The key of ``supabaseSecret``.
    var supabaseKey: JSONWebKey? {
        supabaseSecret.map { JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(Array($0.utf8))) }
    }

    /// The audience of Supabase's tokens.
    static var supabaseAudience: String { TokenRules.supabase.audience?.first ?? "authenticated" }

    /// Whether there is a key with an audience of its own.
    var hasSupabaseKeys: Bool { supabaseSecret != nil || supabaseProject != nil }

    /// Where keys come from, in the order in which they are tried.
    ///
    /// - Parameters:
    ///   - clock: Measures the ages of key sets, and how long fetching one takes.
    ///   - fetch: Gets the keys of a key set.
    /// - Returns: All sources, and those of them that have to run.
    func keySources(
        clock: any Clock<Duration>,
        fetch: @escaping @Sendable (KeySetClient) async throws(AuthorizationError) -> KeySetDocument = {
            (client: KeySetClient) async throws(AuthorizationError) -> KeySetDocument in try await client.keys()
        }
    ) -> (all: [any KeySource], remote: [RemoteKeySet]) {
        var sources: [any KeySource] = [StaticKeys(keys.map(\.key))]
        if let supabaseKey { sources.append(StaticKeys([supabaseKey], rules: .supabase)) }
        let remote = keySetClients(clock: clock).map { client, rules in
            RemoteKeySet(rules: rules, clock: clock) { () async throws(AuthorizationError) in try await fetch(client) }
        }
        return (sources + remote, remote)
    }

    /// What fetches ``keySets``, in their order, and that of ``supabaseProject``; and what holds for tokens signed with their keys.
    ///
    /// - Parameter clock: Measures how long fetching takes.
    /// - Returns: The clients, each with the rules of its keys.
    package func keySetClients(clock: any Clock<Duration>) -> [(client: KeySetClient, rules: TokenRules)] {
        var rejected = AddressRanges.none
        for range in rejectedKeySetAddresses { rejected.insert(range) }
        // That of the project is asked once, also when it is written down besides.
        let project = supabaseKeySet
        var places = keySets.filter { $0 != project }.map { (url: $0, rules: TokenRules()) }
        if let project { places.append((url: project, rules: .supabase)) }
        return places.map { url, rules in
            let client = KeySetClient(
                url: url,
                rejectedAddresses: rejected,
                rejectsIPv6: rejectsIPv6KeySets,
                clock: clock
            )
            return (client: client, rules: rules)
        }
    }

    /// What is wrong with the places that keys come from.
    ///
    /// - Throws: ``ServiceError`` that names the key in the configuration file.
    func checkKeySources() throws(ServiceError) {
        for url in keySets {
            guard ["https", "http"].contains(url.scheme?.lowercased()),
                url.host(percentEncoded: false)?.isEmpty == false
            else {
                throw ServiceError(
                    .invalidConfiguration,
                    "\(url) is not a URL that begins with https:// or http:// and names a host",
                    key: "client_auth.jwks_uri"
                )
            }
        }
        var ranges = AddressRanges.none
        for range in rejectedKeySetAddresses where !ranges.insert(range) {
            throw ServiceError(
                .invalidConfiguration,
                "\"\(range)\" is not an address range such as 10.0.0.0/8, and not \"local\"",
                key: "client_auth.jwks_reject_ip_ranges"
            )
        }
        if let project = supabaseProject, !Self.isSupabaseReference(project) {
            throw ServiceError(
                .invalidConfiguration,
                "\"\(project)\" is not the reference of a project, the middle of db.<reference>.supabase.co",
                key: "client_auth.supabase"
            )
        }
        if let secret = supabaseSecret, secret.utf8.count < JSONWebKey.minimumSecretBytes {
            throw ServiceError(
                .invalidConfiguration,
                "the secret has \(secret.utf8.count.counted("byte")); with fewer than \(JSONWebKey.minimumSecretBytes) it can be guessed",
                key: "client_auth.supabase_jwt_secret"
            )
        }
    }
}
