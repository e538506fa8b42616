import GRDB
import PowerSyncSQLite

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
}

// `EXPLAIN` lists the program of a statement, followed by those of the triggers and foreign key actions that it can run:
//
//     addr  opcode     p1  p2  p3  p4
//     0     Init       0   9   0
//     1     OpenWrite  0   2   0   3            cursor, root page of a table or index, database (0 is main)
//     8     Program    1   9   5   program
//     0     Init       0   1   0   -- TRIGGER x
//     5     VUpdate    1   3   1   vtab:5581    writes to a virtual table, whose address p4 is
//
// SQLite may change this with any version. So whatever is not exactly as expected makes the result ``anything``: an
// instruction that is not in ``ProgramInstructions``, other columns, a root page that belongs to no table, a program that
// writes nowhere. Observers then fetch too often, but never too seldom.
extension WrittenTables {
    /// The tables that a statement of the application can write to while rows are published, triggers and foreign key
    /// actions included.
    ///
    /// Virtual tables are not known by name. Those of the upload queue ignore what is written while rows are
    /// published; any other one makes the result ``anything``.
    init(of sql: String, _ db: Database) throws {
        let ignored = try QueueModule.Kind.allCases.map { kind in
            try Program(explaining: "INSERT INTO \(kind.name) (data) VALUES (NULL)", db)
        }
        self = try WrittenTables(
            of: try Program(explaining: sql, db),
            ignoring: ignored.reduce(into: []) { $0.formUnion($1.virtualTables) },
            db
        )
    }

    /// The table that a statement writes to by itself, without triggers and foreign key actions; `nil` for a view.
    static func target(of sql: String, _ db: Database) throws -> String? {
        guard let page = try Program(explaining: sql, db).ownRootPages.min() else { return nil }
        return try String.fetchOne(
            db.cachedStatement(sql: "SELECT tbl_name FROM sqlite_master WHERE rootpage = ?"),
            arguments: [page]
        )
    }

    /// The tables that a program can write to.
    init(of program: Program, ignoring ignored: Set<String>, _ db: Database) throws {
        guard program.isUnderstood, program.virtualTables.isSubset(of: ignored), !program.rootPages.isEmpty else {
            self = .anything
            return
        }
        var names: Set<ExactText> = []
        for page in program.rootPages {
            let name = try String.fetchOne(
                db.cachedStatement(sql: "SELECT tbl_name FROM sqlite_master WHERE rootpage = ?"),
                arguments: [page]
            )
            guard let name else {
                self = .anything
                return
            }
            names.insert(ExactText(name))
        }
        self = .tables(names)
    }

    /// What the program of a statement writes to.
    struct Program {
        /// The root pages of tables and indexes in the main database.
        private(set) var rootPages: Set<Int64> = []
        /// The addresses of virtual tables.
        private(set) var virtualTables: Set<String> = []
        /// The root pages that the statement itself writes to, without triggers and foreign key actions.
        private(set) var ownRootPages: Set<Int64> = []
        /// The triggers that the statement can fire.
        private(set) var triggers: Set<String> = []
        /// Whether nothing else is written to, such as a temporary table, and every instruction is known.
        private(set) var isUnderstood = true
        /// How many programs have begun: the first is that of the statement itself.
        private var programCount = 0

        /// Whether the statement can fire triggers of the app: those of table diffs do not count.
        var firesTriggers: Bool { triggers.contains { !$0.hasPrefix(TableDiffRecording.namePrefix) } }

        /// Asks SQLite for the program of a statement.
        init(explaining sql: String, _ db: Database) throws {
            // Not a kept statement: EXPLAIN is not compiled anew when another connection has changed the schema.
            guard let connection = db.sqliteConnection,
                let steps = try PreparedStatement(preparing: "EXPLAIN \(sql)", on: connection)
            else {
                isUnderstood = false
                return
            }
            let columns = (0..<6).map { steps.name(of: $0) }
            isUnderstood = columns == ["addr", "opcode", "p1", "p2", "p3", "p4"]
            while try steps.step() {
                add(
                    steps.text(at: 1).map { String(decoding: $0, as: UTF8.self) } ?? "",
                    steps.integer(at: 2),
                    steps.integer(at: 3),
                    steps.integer(at: 4),
                    steps.text(at: 5).map { String(decoding: $0, as: UTF8.self) } ?? ""
                )
            }
        }

        /// A program without instructions.
        init() {}

        /// Adds an instruction.
        mutating func add(_ opcode: String, _ p1: Int64 = 0, _ p2: Int64 = 0, _ p3: Int64 = 0, _ p4: String = "") {
            if opcode == "Init" {
                programCount += 1
                if p4.hasPrefix(Self.triggerMark) { triggers.insert(String(p4.dropFirst(Self.triggerMark.count))) }
            }
            switch opcode {
            case "OpenWrite": add(page: p2, database: p3)
            case "Clear": add(page: p1, database: p2)
            case "VUpdate":
                virtualTables.insert(p4)
                if !p4.hasPrefix("vtab:") { isUnderstood = false }
            default:
                if !ProgramInstructions.harmless.contains(opcode) { isUnderstood = false }
            }
        }

        private static let triggerMark = "-- TRIGGER "

        private mutating func add(page: Int64, database: Int64) {
            // Page 1 is the schema itself.
            if database == 0, page > 1 {
                rootPages.insert(page)
                if programCount <= 1 { ownRootPages.insert(page) }
            } else {
                isUnderstood = false
            }
        }
    }
}
