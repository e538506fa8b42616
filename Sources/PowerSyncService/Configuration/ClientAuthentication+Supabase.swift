import Foundation

/// Which Supabase project a service belongs to, and where that publishes its keys.
///
/// The host of a project's database is `db.<reference>.supabase.co`, and its key set at
/// `https://<reference>.supabase.co/auth/v1/.well-known/jwks.json`. The reference has ASCII letters, digits and `_`.
extension ClientAuthentication {
    /// The project whose database has a host.
    ///
    /// - Parameter host: The host of a source.
    /// - Returns: The reference of the project; `nil` for every other host, such as that of a pooler.
    static func supabaseProject(ofHost host: String) -> String? {
        let (prefix, suffix) = ("db.", ".supabase.co")
        guard host.hasPrefix(prefix), host.hasSuffix(suffix) else { return nil }
        let reference = String(host.dropFirst(prefix.count).dropLast(suffix.count))
        return isSupabaseReference(reference) ? reference : nil
    }

    /// Whether a text can be the reference of a project.
    static func isSupabaseReference(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isReferenceByte)
    }

    private static func isReferenceByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Where ``supabaseProject`` publishes its keys; `nil` without a project.
    var supabaseKeySet: URL? {
        supabaseProject.flatMap { URL(string: "https://\($0).supabase.co/auth/v1/.well-known/jwks.json") }
    }
}

extension ServiceConfiguration.Source {
    /// The Supabase project whose database it is; `nil` for others.
    var supabaseProject: String? {
        guard let host = module.host else { return nil }
        return ClientAuthentication.supabaseProject(ofHost: host)
    }
}
