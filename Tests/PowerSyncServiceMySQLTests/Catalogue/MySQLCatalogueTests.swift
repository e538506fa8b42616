import MySQLBinlog
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// What the answers of a server's catalogue mean, without a server (docs/mysql.md "Changed tables").
@Suite struct MySQLCatalogueTests {
    /// A column: name, type, and more.
    struct Column: Sendable {
        var name: String
        var type = "int(11)"
        var charset: String?
        var isNullable = false
        var extra = ""
        var expression: String?
    }

    /// A part of a unique key of `t`.
    struct Part: Sendable {
        var index: String
        var position: String
        var column: String?
        var prefix: String?
        var kind = "BTREE"
        var isUsable = "YES"
    }

    private static let name = SourceTableName(schema: "app", name: "t")

    private func catalogue(
        _ columns: [Column],
        _ keys: [Part],
        type: String = "BASE TABLE",
        engine: String? = "InnoDB",
        incarnations: [[String?]]? = [["app/t", "7"]],
        createdAt: String = "2026-01-01 00:00:00",
        rows: String = "3",
        isMariaDB: Bool = false,
        followsAlter: Bool = true,
        reading readColumns: Set<String>? = nil
    ) -> MySQLCatalogue {
        var answers = CatalogueRows()
        answers.tables = [["app", "t", type, engine, createdAt, rows]]
        answers.columns = columns.enumerated().map { index, column in
            [
                "app", "t", column.name, "\(index + 1)", column.type, column.charset,
                column.charset.map { "\($0)_bin" },
                column.isNullable ? "YES" : "NO", column.extra, column.expression,
            ]
        }
        answers.keys = keys.map { ["app", "t", $0.index, $0.position, $0.column, $0.prefix, $0.kind, $0.isUsable] }
        answers.incarnations = incarnations
        return MySQLCatalogue(
            answers,
            isMariaDB: isMariaDB,
            followsAlter: followsAlter,
            where: { $0 == Self.name },
            reading: { _ in readColumns }
        )
    }

    private func table(
        _ columns: [Column],
        _ keys: [Part],
        isMariaDB: Bool = false,
        reading readColumns: Set<String>? = nil
    ) throws -> MySQLTable {
        try #require(catalogue(columns, keys, isMariaDB: isMariaDB, reading: readColumns).tables.first)
    }

    // MARK: Identity

    @Test func thePrimaryKeyIsTheIdentityInItsOrder() throws {
        let table = try table(
            [Column(name: "a"), Column(name: "b"), Column(name: "c")],
            [
                Part(index: "another", position: "1", column: "c"), Part(index: "PRIMARY", position: "2", column: "a"),
                Part(index: "PRIMARY", position: "1", column: "b"),
            ]
        )
        #expect(table.key == .primary)
        #expect(table.identity.map(\.name) == ["b", "a"])
        #expect(table.copyKey?.map(\.name) == ["b", "a"])
        #expect(table.keyIndexName == "PRIMARY")
    }

    @Test func theSmallestUniqueKeyWithoutNULLTakesThePlaceOfAPrimaryKey() throws {
        let table = try table(
            [Column(name: "a"), Column(name: "b"), Column(name: "n", isNullable: true), Column(name: "c")],
            [
                Part(index: "nullable", position: "1", column: "n"),
                Part(index: "prefix", position: "1", column: "a", prefix: "3"),
                Part(index: "expression", position: "1", column: nil), Part(index: "two", position: "1", column: "a"),
                Part(index: "two", position: "2", column: "b"), Part(index: "z", position: "1", column: "c"),
                Part(index: "y", position: "1", column: "b"),
            ]
        )
        #expect(table.key == .unique("y"))
        #expect(table.identity.map(\.name) == ["b"])
    }

    @Test func withoutAKeyAllColumnsThatAreWrittenAreTheIdentity() throws {
        let catalogue = catalogue(
            [
                Column(name: "a"), Column(name: "n", isNullable: true),
                Column(name: "g", extra: "STORED GENERATED", expression: "(`a` + 1)"),
            ],
            [Part(index: "u", position: "1", column: "n")]
        )
        let table = try #require(catalogue.tables.first)
        #expect(table.key == .none)
        #expect(table.identity.map(\.name) == ["a", "n"])
        #expect(table.copyKey == nil && table.keyIndexName == nil)
        #expect(catalogue.findings.map(\.message).contains { $0.hasPrefix("app.t has no primary key") })
    }

    /// MariaDB leaves them out of the log, from 11.8 on.
    @Test func aKeyWithAGeneratedColumnIsNoneOnMariaDB() throws {
        let columns = [
            Column(name: "a"), Column(name: "s", extra: "STORED GENERATED", expression: "`a` + 1"), Column(name: "b"),
        ]
        let keys = [Part(index: "u", position: "1", column: "s"), Part(index: "v", position: "1", column: "b")]
        #expect(try table(columns, keys).key == .unique("u"))
        #expect(try table(columns, keys, isMariaDB: true).key == .unique("v"))
        let primary = [Part(index: "PRIMARY", position: "1", column: "s")]
        #expect(try table(columns, primary).key == .primary)
        #expect(try table(columns, primary, isMariaDB: true).key == .none)
    }

    @Test func theInvisibleKeyOfAServerIsTheIdentity() throws {
        let table = try table(
            [Column(name: "my_row_id", type: "bigint unsigned", extra: "auto_increment INVISIBLE"), Column(name: "a")],
            [Part(index: "PRIMARY", position: "1", column: "my_row_id")]
        )
        #expect(table.identity.map(\.name) == ["my_row_id"])
        #expect(table.columns.map(\.isInvisible) == [true, false])
    }

    @Test(arguments: [
        (Part(index: "PRIMARY", position: "1", column: "a", prefix: "20"), "varchar(100)"),
        (Part(index: "PRIMARY", position: "1", column: "a", kind: "HASH"), "int"),
        (Part(index: "PRIMARY", position: "1", column: "a", isUsable: "NO"), "int"),
        (Part(index: "PRIMARY", position: "1", column: "a"), "double"),
        (Part(index: "PRIMARY", position: "1", column: "a"), "enum('x')"),
        (Part(index: "PRIMARY", position: "1", column: "a"), "bit(3)"),
    ])
    func aKeyWithoutTheOrderOfItsValuesIsNotCopiedInParts(_ part: Part, _ type: String) throws {
        let table = try table([Column(name: "a", type: type)], [part])
        #expect(table.key == .primary)
        #expect(table.copyKey == nil)
    }

    // MARK: Form

    private static let columns = [Column(name: "id"), Column(name: "a"), Column(name: "b", isNullable: true)]
    private static let key = [Part(index: "PRIMARY", position: "1", column: "id")]

    private func descriptor(
        _ columns: [Column] = columns,
        keys: [Part] = key,
        engine: String = "InnoDB",
        incarnations: [[String?]]? = [["app/t", "7"]],
        createdAt: String = "2026-01-01 00:00:00",
        followsAlter: Bool = true,
        reading readColumns: Set<String>? = nil
    ) throws -> SourceTableDescriptor {
        try #require(
            catalogue(
                columns,
                keys,
                engine: engine,
                incarnations: incarnations,
                createdAt: createdAt,
                followsAlter: followsAlter,
                reading: readColumns
            ).tables.first
        ).descriptor(SourceValueOptions())
    }

    @Test func aColumnThatIsReadIsAPartOfTheTable() throws {
        let before = try descriptor()
        var columns = Self.columns
        columns[1].type = "bigint(20)"
        #expect(try descriptor(columns).changes(since: before) == ["a"])
        #expect(try descriptor(columns).isSame(as: before) && !descriptor(columns).hasMovedColumns(since: before))
        columns = Self.columns + [Column(name: "c")]
        #expect(try descriptor(columns).changes(since: before) == ["c"])
        columns = [Self.columns[0], Self.columns[2], Self.columns[1]]
        #expect(try descriptor(columns).changes(since: before) == ["a", "b"])
        // Rows with all columns have them in another order.
        #expect(try !descriptor(columns).hasMovedColumns(since: before))
    }

    @Test func aColumnThatIsNotReadIsNoPartOfTheTable() throws {
        let read: Set<String> = ["a"]
        let before = try descriptor(reading: read)
        var columns = Self.columns
        columns[2].type = "text"
        #expect(try descriptor(columns, reading: read) == before)
        #expect(try descriptor(Self.columns + [Column(name: "new")], reading: read) == before)
        // Where the others are depends on it.
        let moved = try descriptor([Self.columns[0], Column(name: "new"), Self.columns[1]], reading: read)
        #expect(moved != before && moved.hasMovedColumns(since: before))
        // The key is read whether a query names it or not.
        columns[0].type = "bigint(20)"
        #expect(try descriptor(columns, reading: read).changes(since: before) == ["key"])
    }

    @Test func whoReadsAnotherColumnReadsTheSameTable() throws {
        let (one, two) = (try descriptor(reading: ["a"]), try descriptor(reading: ["id", "b"]))
        #expect(one != two && one.form == two.form && one.isSame(as: two))
        // Without a key, all columns tell rows apart, those that are not read, too.
        let keyless = try descriptor(keys: [], reading: ["a"])
        #expect(try descriptor([Column(name: "id"), Column(name: "a")], keys: [], reading: ["a"]).form != keyless.form)
    }

    @Test func rowsThatWereWrittenAnewAreAnotherTable() throws {
        let form = try descriptor().form
        #expect(try descriptor(incarnations: [["app/t", "8"]]).form != form)
        #expect(try descriptor(engine: "MyISAM").form != form)
        // With the number of the table, the time of an ALTER says nothing.
        #expect(try descriptor(createdAt: "2026-01-02 00:00:00").form == form)
        let unknown = try descriptor(incarnations: nil).form
        #expect(try descriptor(incarnations: nil, createdAt: "2026-01-02 00:00:00").form != unknown)
        // A name that is not found does not stand for a table without a number.
        #expect(try descriptor(incarnations: []).form == unknown)
    }

    @Test func partitionsAreAPartOfTheForm() throws {
        let three: [[String?]] = [["app/t#P#p1", "8"], ["app/t#P#p0", "7"], ["app/t2#P#p0", "9"]]
        let form = try descriptor(incarnations: three).form
        #expect(form["rewritten rows"] == "7,8")
        #expect(try descriptor(incarnations: [["app/t#p#p0", "7"], ["app/t#p#p1", "10"]]).form != form)
    }

    @Test func ALTERIsNotFollowedWhenTheConfigurationSaysSo() throws {
        let before = try descriptor(followsAlter: false)
        var columns = Self.columns
        columns[1].type = "bigint(20)"
        #expect(try descriptor(columns, incarnations: [["app/t", "8"]], followsAlter: false) == before)
        columns[0].type = "bigint(20)"
        #expect(try descriptor(columns, followsAlter: false) != before)
    }

    // MARK: What is left out

    @Test(
        arguments: [
            ("VIEW", nil, "is a view"), ("SEQUENCE", "InnoDB", "is of the kind SEQUENCE"),
            ("SYSTEM VERSIONED", "InnoDB", "is system-versioned"),
            ("BASE TABLE", "FEDERATED", "has the engine FEDERATED"),
            ("BASE TABLE", nil, "cannot be opened"),
        ] as [(String, String?, String)]
    )
    func whatIsNoTableWithALogIsLeftOut(_ type: String, _ engine: String?, _ message: String) {
        let catalogue = catalogue(Self.columns, Self.key, type: type, engine: engine)
        #expect(catalogue.tables.isEmpty)
        #expect(catalogue.findings.count == 1)
        #expect(catalogue.findings.first?.message.contains(message) == true)
        #expect(catalogue.findings.first?.leavesTableOut == true)
        #expect(catalogue.findings.first?.place.table == Self.name)
        // Of a table that cannot be opened now, the rows are not gone.
        #expect(catalogue.unopened == (type == "BASE TABLE" && engine == nil ? [Self.name] : []))
    }

    @Test func aTableWithAColumnThatCannotBeReadIsLeftOut() {
        let catalogue = catalogue([Column(name: "id"), Column(name: "x", type: "xmltype")], Self.key)
        #expect(catalogue.tables.isEmpty)
        #expect(catalogue.findings.first?.message.contains("Column x of app.t has the type xmltype") == true)
    }

    @Test func aTableOfWhichSomeColumnsAreHiddenIsLeftOut() {
        var answers = CatalogueRows()
        answers.tables = [["app", "t", "BASE TABLE", "InnoDB", nil, "1"]]
        answers.columns = [["app", "t", "b", "2", "int", nil, nil, "NO", "", ""]]
        let catalogue = MySQLCatalogue(
            answers,
            isMariaDB: false,
            followsAlter: true,
            where: { _ in true },
            reading: { _ in nil }
        )
        #expect(catalogue.tables.isEmpty)
        #expect(catalogue.findings.first?.severity == .error)
    }

    @Test func whatIsSlowOrNotWholeIsAWarning() {
        let memory = catalogue(Self.columns, Self.key, engine: "MEMORY")
        #expect(memory.findings.map(\.message).contains { $0.contains("empty after a restart") })
        #expect(memory.tables.count == 1)
        let text = catalogue([Column(name: "id", type: "varchar(20)", charset: "gbk")], Self.key)
        #expect(text.findings.map(\.message).contains { $0.contains("has the charset gbk") })
        let large = catalogue([Column(name: "id", type: "double")], Self.key, rows: "2000000")
        #expect(large.findings.map(\.message).contains { $0.contains("an interrupted copy begins anew") })
        #expect(catalogue(Self.columns, Self.key).findings.isEmpty)
    }

    // MARK: Plans

    @Test func theTablesOfToolsAreReadUnderTheirNamesOnly() throws {
        var plan = try plan(reading: ["app.lists", "%", "_named_gho"])
        plan.defaultSchema = "app"
        for (name, isRead) in [
            ("lists", true), ("_lists_gho", false), ("_lists_ghc", false), ("_lists_del", false), ("_lists_new", false),
            ("_lists_old", false), ("_named_gho", true), ("lists_new", true), ("_lists", true),
        ] {
            #expect(plan.reads(SourceTableName(schema: "app", name: name)) == isRead, "\(name)")
        }
        #expect(!plan.reads(SourceTableName(schema: "other", name: "lists")))
    }
}

/// A plan that reads tables.
func plan(reading tables: [String]) throws -> SyncPlan {
    let queries = tables.map { table in
        let name = table.split(separator: ".").map { "\"\($0)\"" }.joined(separator: ".")
        return "      - SELECT * FROM \(name) AS t"
    }
    let config = """
        config: {edition: 3}
        streams:
          all:
            auto_subscribe: true
            queries:
        \(queries.joined(separator: "\n"))
        """
    return try ServiceTestSupport.plan(config)
}
