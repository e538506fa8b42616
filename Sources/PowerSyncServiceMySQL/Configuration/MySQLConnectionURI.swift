import Foundation

/// The parts of a connection URI.
///
/// ```
/// mysql://user:password@host:3306/database?connectTimeout=10000&connectionLimit=8&sslmode=verify-full
/// mariadb://user:password@[::1]/database
/// ```
///
/// User, password and database are percent-decoded. The user ends at the first `:`, and the password at the only `@`: with a second
/// `@`, or one behind a `/` or `?`, it could not be told where the password ends, and messages would show a part of it.
package struct MySQLConnectionURI: Sendable, Equatable {
    /// What a connection needs; `nil` for what is not there.
    package struct Parts: Sendable, Equatable {
        /// The name or the address of the server, without brackets.
        package var host: String?
        /// The port as it is written.
        package var port: String?
        /// The user.
        package var username: String?
        /// The password.
        package var password: String?
        /// The default schema.
        package var database: String?

        /// These parts, with others written over them.
        func merging(_ others: Parts) -> Parts {
            Parts(
                host: others.host ?? host,
                port: others.port ?? port,
                username: others.username ?? username,
                password: others.password ?? password,
                database: others.database ?? database
            )
        }
    }

    /// Why a text is no connection URI; says nothing of its user and password.
    enum Problem: Sendable, Hashable {
        /// There is an `@` that is not the one before the host.
        case ambiguous
        /// It begins with another scheme.
        case scheme(String)
        /// A `%` is not followed by two hexadecimal digits, or the bytes are no text.
        case escape
        /// It is something else.
        case unreadable
    }

    /// The schemes.
    static let schemes = ["mysql", "mariadb"]

    /// What the URI says; nothing when there is a ``problem``.
    private(set) var parts = Parts()
    /// The parameters behind `?`, in their order.
    private(set) var parameters: [(name: String, value: String)] = []
    /// Why it cannot be read.
    private(set) var problem: Problem?

    /// Reads a URI.
    package init(_ text: String) {
        do throws(Problem) {
            try read(text)
        } catch {
            problem = error
        }
    }

    package static func == (left: MySQLConnectionURI, right: MySQLConnectionURI) -> Bool {
        left.parts == right.parts && left.problem == right.problem
            && left.parameters.elementsEqual(right.parameters) { $0.name == $1.name && $0.value == $1.value }
    }

    private mutating func read(_ text: String) throws(Problem) {
        guard let separator = text.firstRange(of: "://") else { throw .unreadable }
        let scheme = text[..<separator.lowerBound]
        guard Self.schemes.contains(scheme.lowercased()) else {
            let isName =
                (1...32).contains(scheme.utf8.count) && scheme.allSatisfy { $0.isLetter || "+.:-".contains($0) }
            throw isName ? .scheme(String(scheme)) : .unreadable
        }
        let rest = text[separator.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = rest[..<end]
        guard rest.count(where: { $0 == "@" }) <= 1, !rest[end...].contains("@") else { throw .ambiguous }
        var parts = Parts()
        let server: Substring
        if let at = authority.firstIndex(of: "@") {
            let user = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            parts.username = try Self.decoded(user.first)
            parts.password = try Self.decoded(user.count > 1 ? user[1] : nil)
            server = authority[authority.index(after: at)...]
        } else {
            server = authority
        }
        (parts.host, parts.port) = try Self.hostAndPort(server)
        var tail = rest[end...]
        if let hash = tail.firstIndex(of: "#") { tail = tail[..<hash] }
        let query = tail.firstIndex(of: "?")
        let path = tail[..<(query ?? tail.endIndex)].dropFirst()
        parts.database = try Self.decoded(path.isEmpty ? nil : path)
        for parameter in query.map({ tail[tail.index(after: $0)...] })?.split(separator: "&") ?? [] {
            let sign = parameter.firstIndex(of: "=") ?? parameter.endIndex
            let value = try Self.decoded(parameter[sign...].dropFirst()) ?? ""
            parameters.append((name: String(parameter[..<sign]), value: value))
        }
        self.parts = parts
    }

    private static func hostAndPort(_ server: Substring) throws(Problem) -> (host: String?, port: String?) {
        var host = server
        var port: Substring?
        if server.first == "[" {
            guard let close = server.firstIndex(of: "]") else { throw .unreadable }
            host = server[server.index(after: server.startIndex)..<close]
            let behind = server[server.index(after: close)...]
            guard behind.isEmpty || behind.first == ":" else { throw .unreadable }
            port = behind.isEmpty ? nil : behind.dropFirst()
        } else if let colon = server.lastIndex(of: ":") {
            host = server[..<colon]
            port = server[server.index(after: colon)...]
            // More than one: what precedes may be a password without its @.
            guard !host.contains(":") else { throw .unreadable }
        }
        return (host.isEmpty ? nil : try decoded(host), port.map(String.init))
    }

    private static func decoded(_ text: Substring?) throws(Problem) -> String? {
        guard let text else { return nil }
        guard text.contains("%") else { return String(text) }
        guard let decoded = String(text).removingPercentEncoding, !decoded.contains("\0") else { throw .escape }
        return decoded
    }
}

extension MySQLConnectionURI: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of the URI: it may have a password.
    package var description: String { "a MySQL server" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension MySQLConnectionURI.Problem: Error {}

extension MySQLConnectionURI.Problem {
    /// What is wrong, and what to write.
    var text: String {
        let form = "mysql://user:password@host:3306/database"
        return switch self {
        case .ambiguous:
            """
            has an @ that is not the one before the host, so that it cannot be told where the password ends; write %40 for each @ in user, \
            password and parameters, and %2F for each /
            """
        case .scheme(let scheme): "begins with \(scheme)://; write \(form)"
        case .escape: "has a % that two hexadecimal digits do not follow; write %25 for a %, %40 for an @, %2F for a /"
        case .unreadable: "not a connection URI; write \(form)"
        }
    }
}
