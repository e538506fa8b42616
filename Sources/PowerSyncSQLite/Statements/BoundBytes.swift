public import GRDBSQLite

/// The owner of the bytes of a text or blob that SQLite is handed.
@usableFromInline
package enum BoundBytes {
    /// SQLite copies them before the call returns.
    case copied
    /// They stay in place until the execution ends, and SQLite reads them there.
    case inPlace

    /// What SQLite is told: the macros `SQLITE_TRANSIENT`, which Swift does not import, and `SQLITE_STATIC`.
    @inlinable
    package var destructor: sqlite3_destructor_type? {
        switch self {
        case .copied: unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        case .inPlace: nil
        }
    }
}
