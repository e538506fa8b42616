import GRDB
import PowerSyncSQLite

extension WrittenTables {
    /// Tells GRDB's observers, before the transaction ends.
    func announce(_ db: Database, schema: inout KnownSchema) throws {
        switch self {
        case .tables(let names):
            for name in names {
                try Announcement.tell([name.text], in: schema.region(db, of: name.text), db)
            }
        case .anything:
            try Announcement.tell(nil, in: .fullDatabase, db)
        }
    }
}
