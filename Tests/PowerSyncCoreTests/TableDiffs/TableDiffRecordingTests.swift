import GRDB
import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

@Suite struct TableDiffRecordingTests {
    private static let table = ClientTable(
        name: "items",
        columns: [
            ClientColumn(name: "name", type: .text), ClientColumn(name: "size", type: .integer),
            ClientColumn(name: "note's", type: .text),
        ]
    )
    private static let everything: [TableDiffDefinition.Operation: String] = [
        .insert: "TRUE", .update: "TRUE", .delete: "TRUE",
    ]

    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase(Self.table)
    }

    private func record(
        _ conditions: [TableDiffDefinition.Operation: String] = everything,
        columns: [String]? = nil,
        table: ClientTable = table,
        number: Int = 1
    ) throws -> TableDiffRecording {
        let definition = try TableDiffDefinition(table: table, columns: columns, conditions: conditions)
        let recording = TableDiffRecording(definition, number: number)
        try database.queue.write { try recording.create($0) }
        return recording
    }

    private func changes(_ number: Int = 1) throws -> [String] {
        try database.rows(
            "SELECT id, operation, value, previous_value FROM temp.ps_diff_\(number) ORDER BY operation_id"
        )
    }

    @Test func writesThroughTheViewAreRecorded() throws {
        _ = try record()
        try database.write(
            """
            INSERT INTO items (id, name, size) VALUES ('1', 'a', 1);
            UPDATE items SET size = 2;
            DELETE FROM items;
            """
        )
        #expect(
            try changes() == [
                #"1|INSERT|{"name":"a","size":1,"note's":null}|"#,
                #"1|UPDATE|{"name":"a","size":2,"note's":null}|{"name":"a","size":1,"note's":null}"#,
                #"1|DELETE|{"name":"a","size":2,"note's":null}|"#,
            ]
        )
        let times = try database.texts("SELECT DISTINCT timestamp FROM temp.ps_diff_1")
        for time in times {
            #expect(time?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time ?? "NULL")")
        }
    }

    @Test func writesToADirectTableAreRecorded() throws {
        var table = Self.table
        table.isDirect = true
        try database.apply(table)
        _ = try record([.insert: "NEW.size > 0", .update: "OLD.size IS NOT NEW.size", .delete: "TRUE"], table: table)
        _ = try record(columns: ["note's"], table: table, number: 2)
        try database.write(
            """
            INSERT INTO items (id, name, size) VALUES ('1', 'a', 1), ('2', 'b', 0);
            UPDATE items SET size = 2 WHERE id = '1';
            UPDATE items SET "note's" = 'n' WHERE id = '1';
            INSERT OR REPLACE INTO items (id, name, size) VALUES ('1', 'a', 3);
            DELETE FROM items WHERE id = '1';
            """
        )
        #expect(
            try changes() == [
                #"1|INSERT|{"name":"a","size":1,"note's":null}|"#,
                #"1|UPDATE|{"name":"a","size":2,"note's":null}|{"name":"a","size":1,"note's":null}"#,
                #"1|UPDATE|{"name":"a","size":3,"note's":null}|{"name":"a","size":2,"note's":"n"}"#,
                #"1|DELETE|{"name":"a","size":3,"note's":null}|"#,
            ]
        )
        #expect(try changes(2).contains(#"1|UPDATE|{"note's":"n"}|{"note's":null}"#))
    }

    @Test(
        arguments: ["OFF", "ON"]
    )
    func syncedRowThatIsReplacedCountsAsAnUpdateAndNotAtAllIfItIsTheSame(_ recursiveTriggers: String) throws {
        try database.run("PRAGMA recursive_triggers = \(recursiveTriggers)")
        _ = try record()
        try database.write(
            """
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":1}'), ('2', '{"size":1}');
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":1}'), ('2', '{"size":2}');
            INSERT OR IGNORE INTO ps_data__items (id, data) VALUES ('2', '{"size":9}');
            REPLACE INTO ps_data__items (id, data) VALUES ('3', '{"size":1}');
            DELETE FROM ps_data__items WHERE id = '2';
            INSERT OR IGNORE INTO ps_data__items (id, data) VALUES ('3', '{"size":9}');
            DELETE FROM ps_data__items WHERE id = '3';
            REPLACE INTO ps_data__items (id, data) VALUES ('3', '{"size":2}');
            """
        )
        #expect(
            try changes() == [
                #"1|INSERT|{"size":1}|"#, #"2|INSERT|{"size":1}|"#, #"2|UPDATE|{"size":2}|{"size":1}"#,
                #"3|INSERT|{"size":1}|"#, #"2|DELETE|{"size":2}|"#, #"3|DELETE|{"size":1}|"#,
                #"3|INSERT|{"size":2}|"#,
            ]
        )
    }

    @Test(arguments: ["OFF", "ON"])
    func replacedRowIsNoDeletionWhateverElseIsRecorded(_ recursiveTriggers: String) throws {
        try database.run("PRAGMA recursive_triggers = \(recursiveTriggers)")
        _ = try record([.delete: "TRUE"])
        try database.write(
            """
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":1}'), ('2', '{"size":1}');
            DELETE FROM ps_data__items WHERE id = '1';
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":2}'), ('2', '{"size":2}');
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":3}'), ('2', '{"size":3}');
            """
        )
        #expect(try changes() == [#"1|DELETE|{"size":1}|"#])
    }

    @Test
    func valuesOfChosenColumnsAreRecordedAsTheyAreStored() throws {
        _ = try record(columns: ["name", "size"])
        let stored = #"{"name":{"a":[1,{"b":null}]},"size":1.7976931348623157e308}"#
        try database.write("REPLACE INTO ps_data__items (id, data) VALUES ('1', ?)", [stored])
        try database.write(#"REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"name":true}')"#)
        #expect(try changes() == [#"1|INSERT|\#(stored)|"#, #"1|UPDATE|{"name":true,"size":null}|\#(stored)"#])
    }

    @Test(arguments: TableDiffDefinition.Operation.allCases)
    func onlyTheRecordedOperationsAreRecorded(_ operation: TableDiffDefinition.Operation) throws {
        _ = try record([operation: "TRUE"])
        try database.write(
            """
            INSERT INTO items (id) VALUES ('1');
            REPLACE INTO ps_data__items (id, data) VALUES ('1', '{"size":1}');
            DELETE FROM items;
            """
        )
        #expect(
            try database.texts("SELECT operation FROM temp.ps_diff_1") == [operation.rawValue]
        )
    }

    struct Condition: Sendable, CustomTestStringConvertible {
        let operation: TableDiffDefinition.Operation
        let sql: String
        let ids: [String]

        var testDescription: String { "\(operation) when \(sql)" }
    }

    static let conditions = [
        Condition(operation: .insert, sql: "NEW.size > 1", ids: ["2", "3"]),
        Condition(operation: .insert, sql: "NEW.name = 'b' OR NEW.id = '1'", ids: ["1", "2"]),
        Condition(operation: .insert, sql: "size > 1 -- big", ids: ["2", "3"]),
        Condition(operation: .insert, sql: "json_extract(NEW.data, '$.size') = 3", ids: ["3"]),
        Condition(operation: .insert, sql: "NEW.\"note's\" IS NULL AND FALSE", ids: []),
        Condition(operation: .insert, sql: "NEW.size = (SELECT max(size) FROM items)", ids: ["1", "2", "3"]),
        Condition(operation: .update, sql: "NEW.size > OLD.size AND OLD.SIZE > 1", ids: ["2", "3"]),
        Condition(operation: .update, sql: "NULL", ids: []),
        Condition(operation: .delete, sql: "OLD.size = 20", ids: ["2"]),
    ]

    @Test(arguments: conditions)
    func conditionsKnowTheColumnsOfTheView(_ condition: Condition) throws {
        _ = try record([condition.operation: condition.sql])
        try database.write(
            """
            INSERT INTO items (id, name, size) VALUES ('1', 'a', 1), ('2', 'b', 2), ('3', 'c', 3);
            UPDATE items SET size = size * 10;
            DELETE FROM items;
            """
        )
        #expect(try database.texts("SELECT id FROM temp.ps_diff_1 ORDER BY operation_id") == condition.ids)
    }

    @Test func columnNamedDataIsTheColumn() throws {
        let table = ClientTable(name: "blobs", columns: [ClientColumn(name: "data", type: .text)])
        try database.apply(table)
        _ = try record([.insert: "NEW.data = 'x'"], table: table)
        try database.write("INSERT INTO blobs (id, data) VALUES ('1', 'x'), ('2', 'y')")
        #expect(try changes() == [#"1|INSERT|{"data":"x"}|"#])
    }

    @Test func onlyListedColumnsAreRecorded() throws {
        _ = try record(columns: ["note's", "size"])
        _ = try record(columns: [], number: 2)
        try database.write(
            "INSERT INTO items (id, name, size) VALUES ('1', 'a', 1); UPDATE items SET size = 2"
        )
        #expect(
            try changes() == [
                #"1|INSERT|{"note's":null,"size":1}|"#,
                #"1|UPDATE|{"note's":null,"size":2}|{"note's":null,"size":1}"#,
            ]
        )
        #expect(try changes(2) == ["1|INSERT|{}|", "1|UPDATE|{}|{}"])
    }

    @Test
    func moreColumnsCanBeListedThanAFunctionHasArguments() throws {
        let names = (0..<120).map { "c\($0)" }
        let table = ClientTable(name: "wide", columns: names.map { ClientColumn(name: $0, type: .integer) })
        try database.apply(table)
        _ = try record(columns: names, table: table)
        try database.write("INSERT INTO wide (id, c0, c119) VALUES ('1', 5, 7)")
        let sums = try database.texts(
            "SELECT json_extract(value, '$.c0') + json_extract(value, '$.c119') FROM temp.ps_diff_1"
        )
        #expect(sums == ["12"])
    }

    @Test
    func changesAreInTheirOrderWhateverTheColumnsOfTheViewAreCalled() throws {
        let names = ["operation_id", "__operation_id", "operation", "value", "previous_value", "timestamp"]
        let table = ClientTable(name: "log", columns: names.map { ClientColumn(name: $0, type: .text) })
        try database.apply(table)
        let recording = try record(table: table)
        for id in ["3", "2", "1"] {
            let values = names.map { _ in "'\(id)'" }.joined(separator: ", ")
            try database.write("INSERT INTO log VALUES ('\(id)', \(values))")
        }
        #expect(
            try database.rows(recording.extractedChanges(through: 2)).map { $0.prefix(17) } == [
                "3|3|3|3|3|3|3|1|I", "2|2|2|2|2|2|2|2|I",
            ]
        )
    }

    @Test func recordedChangesAreForgottenUpToAPosition() throws {
        let recording = try record()
        #expect(try database.queue.read { try recording.lastOperationID($0) } == nil)
        try database.write("INSERT INTO items (id) VALUES ('1'), ('2')")
        #expect(try database.queue.read { try recording.lastOperationID($0) } == 2)
        try database.queue.write { try recording.remove($0, through: 1) }
        #expect(try database.texts("SELECT id FROM temp.ps_diff_1") == ["2"])
        try database.queue.write { try recording.remove($0, through: 2) }
        try database.write("INSERT INTO items (id) VALUES ('3')")
        // Positions are not used again.
        #expect(try database.queue.read { try recording.lastOperationID($0) } == 3)
    }

    @Test
    func whatIsReadEndsAtAPositionAndHasTheRecordedColumnsOnly() throws {
        let recording = try record(columns: ["size"])
        try database.write("INSERT INTO items (id, name, size) VALUES ('1', 'a', 1), ('2', 'b', 2)")
        #expect(try database.rows(recording.storedChanges(through: 1)).map { $0.prefix(10) } == ["1|1|INSERT"])
        #expect(try database.rows(recording.extractedChanges(through: 1)).map { $0.prefix(12) } == ["1|1|1|INSERT"])
        let columns = try database.queue.read { db in
            try db.makeStatement(sql: recording.extractedChanges(through: 1)).columnNames
        }
        #expect(columns == ["id", "size", "__operation_id", "__operation", "__timestamp", "__previous_value"])
    }

    @Test func localTablesAreRecordedThoughTheyAreInsertOnly() throws {
        let table = ClientTable.items(isLocalOnly: true, isInsertOnly: true)
        try database.apply(table)
        _ = try record(table: table)
        try database.write("INSERT INTO items (id, col) VALUES ('1', 'a')")
        #expect(try changes() == [#"1|INSERT|{"col":"a"}|"#])
    }

    @Test
    func uploadQueueKnowsItsSequenceWhileChangesAreRecorded() throws {
        _ = try record()
        try database.write("INSERT INTO items (id) VALUES ('1'), ('2')")
        #expect(try database.queue.read { try UploadQueue.sequence($0) } == 2)
    }

    @Test func droppingRemovesEverything() throws {
        let recording = try record()
        _ = try record(number: 2)
        try database.queue.write { try recording.drop($0) }
        let left = try database.texts("SELECT name FROM sqlite_temp_master WHERE name GLOB 'ps_diff_1*'")
        #expect(left.isEmpty)
        try database.write("INSERT INTO items (id) VALUES ('1')")
        #expect(try changes(2).count == 1)
        try database.queue.write { try recording.drop($0) }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let operation: TableDiffDefinition.Operation
        let sql: String
        let message: String

        var testDescription: String { "\(operation) when \(sql)" }
    }

    static let mistakes = [
        Mistake(operation: .insert, sql: "NEW.colour = 'red'", message: "no such column: NEW.colour"),
        Mistake(operation: .insert, sql: "OLD.size = 1", message: "no such column: OLD.size"),
        Mistake(operation: .delete, sql: "NEW.size = 1", message: "no such column: NEW.size"),
        Mistake(operation: .update, sql: "NEW.size >", message: "syntax error"),
        Mistake(operation: .update, sql: "", message: "syntax error"),
        Mistake(operation: .update, sql: "1) OR (1; DROP TABLE items", message: "syntax error"),
        Mistake(operation: .insert, sql: "NEW.id IN (SELECT id FROM nowhere)", message: "nowhere"),
        Mistake(operation: .insert, sql: "nonsense(NEW.size)", message: "no such function: nonsense"),
    ]

    @Test(arguments: mistakes)
    func conditionThatSQLiteDoesNotUnderstandIsRefusedAndWritesGoOn(_ mistake: Mistake) throws {
        var conditions = Self.everything
        conditions[mistake.operation] = mistake.sql
        let problem = #expect(throws: TableDiffDefinition.Problem.self) { _ = try record(conditions) }
        guard case .invalidCondition(mistake.operation, let error)? = problem else {
            Issue.record("\(String(describing: problem))")
            return
        }
        #expect(error.message?.contains(mistake.message) == true, "\(error)")
        #expect(try database.texts("SELECT name FROM sqlite_temp_master WHERE name GLOB 'ps_diff_*'").isEmpty)
        try database.write("INSERT INTO items (id) VALUES ('1'); UPDATE items SET size = 1; DELETE FROM items")
    }
}
