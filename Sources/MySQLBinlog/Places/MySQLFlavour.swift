/// The two servers that write this log, in forms of their own.
package enum MySQLFlavour: String, Sendable, Hashable {
    case mysql
    case mariadb
}
