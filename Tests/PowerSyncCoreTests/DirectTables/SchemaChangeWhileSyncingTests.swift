import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// A table changes its kind or its columns between any two steps of a download: nothing is lost, and nothing is published twice.
@Suite struct SchemaChangeWhileSyncingTests {
    private static let columns: [ClientColumn] = [.text("t"), .integer("i")]

    /// How the table is declared.
    enum Declaration: CaseIterable {
        case notAtAll, asView, direct, directWithMore, directWithLess, directAndUnique, directWithMetadata, localOnly

        var tables: [ClientTable] {
            switch self {
            case .notAtAll: []
            case .asView: [.items(columns + [.text("later")])]
            case .direct: [.direct(columns)]
            case .directWithMore: [.direct(columns + [.text("later")])]
            case .directWithLess: [.direct([.text("t")])]
            case .directAndUnique: [.direct([.text("t"), .init(name: "i", type: .integer, constraints: ["UNIQUE"])])]
            case .directWithMetadata: [.direct(columns, .init(tracksMetadata: true))]
            case .localOnly: [.direct(columns, .init(isLocalOnly: true))]
            }
        }
    }

    /// A step of the script.
    enum Step {
        case line(SyncLine)
        case write(String)
        /// The queue is empty, and the service has said so with write checkpoint 1.
        case uploaded
    }

    /// A first sync with a partial checkpoint, then changes, one of which a local write holds back.
    private static let script: [Step] = [
        .line(.checkpoint(4, [.bucket("a", priority: 1), .bucket("b")])),
        .line(
            .ops(
                "a",
                .put(1, "1", data: #"{"t":"a","i":1,"later":"x"}"#),
                .put(2, "2", data: #"{"t":"b","i":2,"later":7}"#)
            )
        ),
        .line(.done(1)),
        .line(.ops("b", .put(3, "3", data: #"{"t":"c","i":3}"#), .put(4, "1", data: #"{"t":"d","i":4,"later":"y"}"#))),
        .line(.done),
        .line(.checkpoint(6, [.bucket("a", priority: 1), .bucket("b")])),
        // Two rows exchange a value, one of another type, and one goes.
        .line(.ops("b", .put(5, "1", data: #"{"t":"e","i":2,"later":"z"}"#), .remove(6, "3"))),
        .line(.done),
        .write("UPDATE items SET t = 'local' WHERE id = '1'"),
        .line(.checkpoint(8, [.bucket("a", priority: 1), .bucket("b")], writeCheckpoint: 1)),
        .line(.ops("a", .put(7, "2", data: #"{"t":5,"i":"4","later":"v"}"#))),
        .line(.ops("b", .put(8, "4", data: #"{"t":"f","i":7}"#))),
        .line(.done),
        .uploaded,
    ]

    /// When the new schema is there, and who has changed it.
    struct Change: CustomTestStringConvertible {
        let old: Declaration
        let new: Declaration
        /// Whether another process has.
        ///
        /// Then the iteration goes on; in this process, a new one begins.
        let isOfAnotherProcess: Bool
        /// From how many operations on the download does without indexes; `nil` for the usual number.
        let bulkLoadThreshold: Int64?
        var testDescription: String {
            "\(old) to \(new)\(isOfAnotherProcess ? ", elsewhere" : "")\(bulkLoadThreshold == nil ? "" : ", in bulk")"
        }
    }

    static let changes = Declaration.allCases.flatMap { old in
        Declaration.allCases.filter { $0 != old }.flatMap { new in
            [false, true].flatMap { isOfAnotherProcess in
                [nil, 1].map {
                    Change(old: old, new: new, isOfAnotherProcess: isOfAnotherProcess, bulkLoadThreshold: $0)
                }
            }
        }
    }

    /// Runs the script.
    private func run(
        _ first: Declaration,
        _ change: Change?,
        at position: Int,
        bulkLoadThreshold: Int64?
    ) throws -> SyncScenario {
        let database = try LocalTestDatabase(schema: ClientSchema(tables: first.tables))
        let scenario = SyncScenario(database: database, bulkLoadThreshold: bulkLoadThreshold)
        try scenario.start()
        var checkpoint: SyncLine?
        var declared = first
        for (index, step) in Self.script.enumerated() {
            if let change, index == position {
                try database.apply(ClientSchema(tables: change.new.tables))
                declared = change.new
                if !change.isOfAnotherProcess {
                    scenario.failIteration()
                    scenario.restart(bulkLoadThreshold: bulkLoadThreshold)
                    try scenario.start()
                    if let checkpoint { try scenario.receive(checkpoint) }
                }
            }
            switch step {
            case .line(let line):
                if case .checkpoint = line { checkpoint = line }
                try scenario.receive(line)
            case .write(let sql):
                guard declared != .notAtAll else { continue }
                try database.write(sql)
            case .uploaded:
                try scenario.write { db in
                    guard let last = try UploadQueue.sequence(db) else { return }
                    try UploadQueue.complete(db, through: last, writeCheckpoint: WriteCheckpoint(1))
                }
                try scenario.send(.uploadCompleted)
                // What was completed in an earlier iteration is completed again.
                if let checkpoint { try scenario.receive(checkpoint, .done) }
            }
        }
        return scenario
    }

    /// What the app sees in the end, and what is left to do.
    private func content(_ scenario: SyncScenario, _ declaration: Declaration) throws -> [String] {
        var content = try scenario.database.rows("PRAGMA integrity_check")
        if declaration != .notAtAll { content += try scenario.database.rows("SELECT * FROM items ORDER BY id") }
        let untyped = "SELECT id, data ->> 't', data ->> 'i' FROM ps_untyped ORDER BY id"
        content += try scenario.database.rows(untyped)
        content += try scenario.updatedRows
        // Where rows of a local-only table are kept does not matter here.
        content += try scenario.database.rows(
            "SELECT type, name, sql FROM sqlite_master WHERE tbl_name NOT GLOB 'ps_data_local__*' ORDER BY name"
        )
        return content
    }

    @Test(arguments: changes.one(in: 40))
    func betweenAnyTwoStepsNothingIsLost(_ change: Change) throws {
        let expected = try content(
            run(change.new, nil, at: 0, bulkLoadThreshold: change.bulkLoadThreshold),
            change.new
        )
        for position in Self.script.indices {
            let scenario = try run(change.old, change, at: position, bulkLoadThreshold: change.bulkLoadThreshold)
            #expect(try content(scenario, change.new) == expected, "at \(position)")
            #expect(try scenario.database.entries().isEmpty)
        }
    }

    /// Another process has added a table with a foreign key, which this one enforces.
    @Test func aForeignKeyOfATableThatIsNotDeclaredHereKeepsNothingBack() throws {
        let database = try LocalTestDatabase(schema: ClientSchema(tables: []))
        let scenario = SyncScenario(database: database)
        try database.run("PRAGMA foreign_keys = ON")
        try scenario.start()
        let reference = "REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED"
        let child = ClientTable(
            name: "children",
            columns: [.init(name: "item", type: .text, constraints: [reference])],
            options: .init(),
            isDirect: true
        )
        try database.apply(ClientSchema(tables: [.direct(Self.columns), child]))
        try scenario.receive(.checkpoint(3, [.bucket("a")]))
        try scenario.receive(
            .ops(
                "a",
                .put(1, "orphan", type: "children", data: #"{"item":"missing"}"#),
                .put(2, "1", data: #"{"t":"a","i":1}"#),
                .put(3, "c", type: "children", data: #"{"item":"1"}"#)
            )
        )
        try scenario.receive(.done)
        #expect(scenario.status.hasSynced == true)
        #expect(try database.rows("SELECT id FROM items") == ["1"])
        #expect(try database.rows("SELECT id FROM children") == ["c"])
    }
}
