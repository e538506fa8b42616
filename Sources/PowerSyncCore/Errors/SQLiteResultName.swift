import GRDB
import GRDBSQLite

/// Names of SQLite's result codes, without the prefix `SQLITE_`, for messages.
enum SQLiteResultName {
    /// The name of an extended code, or that of its primary code when it has none of its own here.
    static func of(_ code: Int32) -> String {
        constraints[code] ?? primary[code & 0xff] ?? "error \(code)"
    }

    private static let primary: [Int32: String] = [
        SQLITE_ERROR: "ERROR", SQLITE_INTERNAL: "INTERNAL", SQLITE_PERM: "PERM", SQLITE_ABORT: "ABORT",
        SQLITE_BUSY: "BUSY", SQLITE_LOCKED: "LOCKED", SQLITE_NOMEM: "NOMEM", SQLITE_READONLY: "READONLY",
        SQLITE_INTERRUPT: "INTERRUPT", SQLITE_IOERR: "IOERR", SQLITE_CORRUPT: "CORRUPT", SQLITE_NOTFOUND: "NOTFOUND",
        SQLITE_FULL: "FULL", SQLITE_CANTOPEN: "CANTOPEN", SQLITE_PROTOCOL: "PROTOCOL", SQLITE_SCHEMA: "SCHEMA",
        SQLITE_TOOBIG: "TOOBIG", SQLITE_CONSTRAINT: "CONSTRAINT", SQLITE_MISMATCH: "MISMATCH",
        SQLITE_MISUSE: "MISUSE", SQLITE_NOLFS: "NOLFS", SQLITE_AUTH: "AUTH", SQLITE_FORMAT: "FORMAT",
        SQLITE_RANGE: "RANGE", SQLITE_NOTADB: "NOTADB",
    ]

    /// The extended codes that tell an app what to do: the kind of constraint.
    private static let constraints: [Int32: String] = [
        275: "CONSTRAINT_CHECK", 531: "CONSTRAINT_COMMITHOOK", 787: "CONSTRAINT_FOREIGNKEY",
        1043: "CONSTRAINT_FUNCTION", 1299: "CONSTRAINT_NOTNULL", 1555: "CONSTRAINT_PRIMARYKEY",
        1811: "CONSTRAINT_TRIGGER", 2067: "CONSTRAINT_UNIQUE", 2323: "CONSTRAINT_VTAB", 2579: "CONSTRAINT_ROWID",
        2835: "CONSTRAINT_PINNED", 3091: "CONSTRAINT_DATATYPE",
    ]
}
