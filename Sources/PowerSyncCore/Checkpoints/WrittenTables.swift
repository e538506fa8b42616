import GRDB

/// The tables that statements write to, for GRDB's observers, which do not see statements that are stepped by hand.
enum WrittenTables: Equatable {
    /// These.
    case tables(Set<ExactText>)
    /// Nobody knows.
    case anything

    /// None.
    static let none = WrittenTables.tables([])

    /// Adds other tables.
    mutating func formUnion(_ other: WrittenTables) {
        guard case .tables(let names) = self, case .tables(let others) = other else {
            self = .anything
            return
        }
        self = .tables(names.union(others))
    }

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

// `EXPLAIN` lists the program of a statement, followed by those of the triggers and foreign key actions that it can run:
//
//     addr  opcode     p1  p2  p3  p4
//     0     Init       0   9   0
//     1     OpenWrite  0   2   0   3            cursor, root page of a table or index, database (0 is main)
//     8     Program    1   9   5   program
//     0     Init       0   1   0   -- TRIGGER x
//     5     VUpdate    1   3   1   vtab:5581    writes to a virtual table, whose address p4 is
extension WrittenTables {
    /// The tables that a statement of the application can write to while rows are published, triggers and foreign key
    /// actions included.
    ///
    /// Virtual tables are not known by name. Those of the upload queue ignore what is written while rows are
    /// published; any other one makes the result ``anything``.
    init(of sql: String, _ db: Database) throws {
        let program = try Program(sql, db)
        let ignored = try Set(
            QueueModule.Kind.allCases.flatMap { kind in
                try Program("INSERT INTO \(kind.name) (data) VALUES (NULL)", db).virtualTables
            }
        )
        guard program.isPlain, program.virtualTables.isSubset(of: ignored) else {
            self = .anything
            return
        }
        let pages = program.rootPages.map(String.init).joined(separator: ",")
        let names = try String.fetchAll(
            db,
            sql: "SELECT tbl_name FROM sqlite_master WHERE rootpage IN (SELECT value FROM json_each(?))",
            arguments: ["[\(pages)]"]
        )
        self = .tables(Set(names.map(ExactText.init)))
    }

    /// What the program of a statement writes to.
    private struct Program {
        /// The root pages of tables and indexes in the main database.
        private(set) var rootPages: Set<Int64> = []
        /// The addresses of virtual tables.
        private(set) var virtualTables: Set<String> = []
        /// Whether nothing else is written to, such as a temporary table.
        private(set) var isPlain = true

        init(_ sql: String, _ db: Database) throws {
            let steps = try RawStatement(db, sql: "EXPLAIN \(sql)")
            defer { steps.reset() }
            while try steps.step() {
                switch steps.text(at: 1).map({ String(decoding: $0, as: UTF8.self) }) {
                case "OpenWrite": add(page: steps.integer(at: 3), database: steps.integer(at: 4))
                case "Clear": add(page: steps.integer(at: 2), database: steps.integer(at: 3))
                case "VUpdate":
                    let table = steps.text(at: 5).map { String(decoding: $0, as: UTF8.self) } ?? ""
                    virtualTables.insert(table)
                    isPlain = isPlain && table.hasPrefix("vtab:")
                default: break
                }
            }
        }

        private mutating func add(page: Int64, database: Int64) {
            // Page 1 is the schema itself.
            if database == 0, page > 1 {
                rootPages.insert(page)
            } else {
                isPlain = false
            }
        }
    }
}
