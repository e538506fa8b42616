/// A test of a sync config: tables with rows, and what clients must receive of them (docs/config-tests.md).
///
/// ```yaml
/// config: {path: sync.yaml}
/// tables:
///   lists: [{id: l1, owner_id: u1}]
///   todos: [{id: t1, list_id: l1}, {id: t2, list_id: l2}]
/// cases:
///   - name: an owner
///     as: {sub: u1}
///     receives: {todos: [t1]}
///     never: {todos: [t2]}
/// ```
///
/// Whatever is wrong is kept as a problem where it is: of the file, of a row, of a case. The rest of the test runs.
package struct ConfigTest: Sendable {
    /// A text that stands in the test, or in a file beside it.
    package enum Text: Sendable, Hashable {
        /// The text itself.
        case inline(String)
        /// The path of the file, relative to the test.
        case file(String)
    }

    /// What the test says about the source.
    package enum Schema: Sendable, Hashable {
        /// `CREATE TABLE` statements, or a file with them, or a database.
        case statements(Text)
        /// The columns of each table.
        case tables(SourceSchema)
    }

    /// A source row.
    package struct Row: Sendable, Hashable {
        /// The schema, if the test names one.
        package var schema: String?
        /// The table.
        package var table: String
        /// The values; `nil` when the test has something that is no row.
        package var values: SourceRow?
    }

    /// The default schema of a PostgreSQL server; where a test or its config names it, tables without a schema are there.
    static let otherDefaultSchema = "public"

    /// The config; `nil` when the test has none, which is a problem.
    package var config: Text?
    /// The schema, for warnings.
    package var schema: Schema?
    /// All source rows in the order of the file.
    package var rows: [Row] = []
    /// The cases.
    package var cases: [ConfigTestCase] = []
    /// What is wrong with the file, apart from its cases.
    package private(set) var findings: [ConfigTestFinding] = []

    /// Creates a test without anything.
    init() {}

    /// Keeps something that is wrong with the file.
    mutating func report(_ finding: ConfigTestFinding) {
        findings.append(finding)
    }

    /// A test that is nothing but a problem.
    package init(problem: String) {
        add(problem: problem)
    }

    /// Keeps that a file cannot be read that the test refers to.
    package mutating func add(problem: String) {
        report(.test("file", problem))
    }
}

/// Something that is wrong with a config, or with the test of it.
package struct ConfigTestFinding: Sendable, Hashable, Encodable {
    /// `error` or `warning`.
    package var level: String
    /// A stable identifier: that of a finding about a config, or `test.…`.
    package var code: String
    /// The line, starting from 1.
    package var line: Int
    /// The column, starting from 1.
    package var column: Int
    /// What is wrong.
    package var message: String

    /// Something that is wrong with a test; the message says where.
    static func test(_ code: String, _ message: String) -> ConfigTestFinding {
        ConfigTestFinding(level: "error", code: "test.\(code)", line: 1, column: 1, message: message)
    }

    /// A finding about a config.
    package init(_ diagnostic: ConfigDiagnostic) {
        self.init(
            level: diagnostic.severity.rawValue,
            code: diagnostic.code,
            line: diagnostic.line,
            column: diagnostic.column,
            message: diagnostic.message
        )
    }

    private init(level: String, code: String, line: Int, column: Int, message: String) {
        self.level = level
        self.code = code
        self.line = line
        self.column = column
        self.message = message
    }
}

/// A request, and what the client that makes it must receive.
package struct ConfigTestCase: Sendable {
    /// A request that the service refuses.
    package struct Refusal: Error, Sendable, Hashable {
        /// The error code.
        package var code: String?
        /// Why.
        package var problems: [String]
    }

    /// What people call it.
    package var name: String
    /// The request.
    package var request: Result<SyncPlanRequest, Refusal>
    /// The code that the request must end with.
    package var error: String?
    /// The buckets that the client must get, in any order; `nil` for whatever they are.
    package var buckets: [String]?
    /// What must arrive; `nil` for whatever it is.
    package var receives: ReceivedRows?
    /// What must not arrive.
    package var never: [ForbiddenRows] = []
    /// What is wrong with the case.
    package var problems: [String] = []
}

/// The rows that a client must receive.
package struct ReceivedRows: Sendable {
    /// The rows of one table.
    enum Table: Sendable {
        /// So many rows, whatever they are.
        case count(Int)
        /// These rows and no others.
        case rows([Row])
    }

    /// One row.
    struct Row: Sendable {
        var id: String
        /// The priority; `nil` for any.
        var priority: Int32?
        /// The content; `nil` for any.
        var data: Content?
    }

    /// The content of a row.
    enum Content: Sendable {
        /// Exactly this text.
        case text(String)
        /// These members, and maybe others.
        case members([JSONNode.Member])
    }

    /// What is expected of tables, by name.
    var tables: [(name: String, expected: Table)] = []
    /// Whether rows of other tables must not arrive.
    var isComplete = false
}

/// Rows that a client must not receive.
package struct ForbiddenRows: Sendable {
    /// The table.
    var table: String
    /// The ids; `nil` for any row of the table.
    var ids: [String]?
}
