/// A part of a JSON Schema (draft 7), as far as the files of a service need one.
package indirect enum SchemaNode: Sendable {
    /// A text.
    case text
    /// One of some texts.
    case choice([String])
    /// A whole number.
    case integer(ClosedRange<Int>)
    /// `true` or `false`.
    case boolean
    /// A list.
    case list(SchemaNode)
    /// One, or a list of these.
    case oneOrMore(SchemaNode)
    /// A mapping with keys of the format.
    case object(SchemaObject)
    /// A mapping that its key `type` tells from the others.
    case variants([SchemaObject])
    /// A mapping whose keys are names that the author chooses.
    case named(SchemaNode)
    /// A mapping or a value that nothing reads.
    case anything
}

/// A mapping of a format.
package struct SchemaObject: Sendable {
    /// A key.
    package struct Key: Sendable {
        /// Its name.
        package var name: String
        /// What it is, for the editor.
        package var about: String
        /// What it may have.
        package var node: SchemaNode

        /// Creates a key.
        package init(_ name: String, _ about: String, _ node: SchemaNode) {
            (self.name, self.about, self.node) = (name, about, node)
        }
    }

    /// The value of the key `type`, of one of several variants.
    package var type: String?
    /// The keys in the order in which people read them.
    package var keys: [Key]
    /// Whether other keys are ignored; otherwise they are errors.
    package var isOpen: Bool

    /// Creates a mapping.
    package init(type: String? = nil, keys: [Key], isOpen: Bool = false) {
        (self.type, self.keys, self.isOpen) = (type, keys, isOpen)
    }
}

extension [SchemaObject.Key] {
    /// A port.
    package static let port = SchemaNode.integer(1...65535)

    /// The keys of a connection to a server.
    ///
    /// - Parameters:
    ///   - uri: The form of its address.
    ///   - modes: How it may be protected.
    /// - Returns: Keys that sources and storages in servers have in common.
    package static func connection(uri: String, modes: [String]) -> Self {
        [
            .init("uri", "\(uri); each of the other keys replaces a part of it.", .text),
            .init("hostname", "The server.", .text), .init("port", "Its port.", port),
            .init("username", "The account.", .text), .init("password", "Its password: !env PS_NAME.", .text),
            .init("database", "The database.", .text),
            .init("sslmode", "How the connection is protected; verify-full by default.", .choice(modes)),
            .init("cacert", "Authorities of the server's certificate: a file, or the text.", .text),
            .init("client_certificate", "The certificate of the account: a file, or the text.", .text),
            .init("client_private_key", "Its key: a file, or the text.", .text),
            .init("tls_servername", "The name that the certificate of the server has to have.", .text),
            .init("connect_timeout", "Seconds.", .integer(1...3600)),
            .init("max_pool_size", "The most connections for questions; 8 by default.", .integer(1...1000)),
            .init("reject_ip_ranges", "Where the server may not be: 10.0.0.0/8, or local.", .oneOrMore(.text)),
        ]
    }
}
