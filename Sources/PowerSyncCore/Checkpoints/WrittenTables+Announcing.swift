import GRDB
import PowerSyncSQLite

extension WrittenTables {
    /// Tells GRDB's observers, before the transaction ends.
    func announce(_ db: Database, schema: inout KnownSchema) throws {
        switch self {
        case .tables(let names):
            for name in names {
                try Announcements.tell(db, [name.text], in: schema.region(db, of: name.text))
            }
        case .anything:
            try Announcements.tell(db, nil, in: .fullDatabase)
        }
    }
}
