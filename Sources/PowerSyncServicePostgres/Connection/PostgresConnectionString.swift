package import PowerSyncServiceCore

/// How to connect to a server: a URI of libpq, or its `keyword=value` pairs.
///
/// It may have a password, so that printing it shows nothing of it.
package struct PostgresConnectionString: Sendable, Hashable {
    /// The text for libpq.
    package let text: String
    /// The parameters for other programs that the URI had, and that are not in ``text``.
    package let foreignParameters: [String]
    /// The schema that one of ``foreignParameters`` names, unless it is the usual one.
    let foreignSchema: String?
    /// Where no server may be: nothing is sent to an address in them.
    package var rejectedAddresses = AddressRanges.none

    /// Creates a connection string from a text for libpq, which may have parameters for other programs.
    package init(_ text: String) {
        (self.text, foreignParameters, foreignSchema) = Self.withoutForeignParameters(text)
    }
}

extension PostgresConnectionString: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a PostgreSQL server" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
