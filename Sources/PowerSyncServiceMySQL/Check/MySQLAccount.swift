/// An account of a server, as `CURRENT_USER()` names it: `powersync@%`.
package struct MySQLAccount: Sendable, Hashable {
    /// The account for statements: `'powersync'@'%'`.
    package let quoted: String

    /// Reads a name; the host is behind the last `@`.
    package init(_ name: String) {
        guard let at = name.lastIndex(of: "@") else {
            quoted = MySQLText.literal(name)
            return
        }
        quoted =
            "\(MySQLText.literal(String(name[..<at])))@\(MySQLText.literal(String(name[name.index(after: at)...])))"
    }
}
