import GRDB

extension WrittenTables {
    /// Tells GRDB's observers, before the transaction ends.
    func announce(_ schema: inout KnownSchema, _ db: Database) throws {
        switch self {
        case .tables(let names):
            for name in names {
                try Announcement.tell([name.text], in: schema.region(of: name.text, db), db)
            }
        case .anything:
            try Announcement.tell(nil, in: .fullDatabase, db)
        }
    }
}
