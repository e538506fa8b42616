import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// A table whose change stream begins to name rows by other columns: what is stored of them is kept (docs/service.md "Source tables").
@Suite(.timeLimit(.minutes(1))) struct EarlierRecordTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT id, name FROM test
          d:
            query: SELECT id FROM docs WHERE grp IN (SELECT name FROM test WHERE id = auth.user_id())
        """
    private static func column(_ name: String, _ type: String) -> SourceTableDescriptor.IdentityColumn {
        .init(name: name, type: type)
    }

    private static var id: [SourceTableDescriptor.IdentityColumn] { [column("id", "TEXT")] }

    /// The table, with rows that are named by its primary key or by another index.
    private static func descriptor(_ index: String? = nil, options: String = "1") -> SourceTableDescriptor {
        SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: "test"),
            relationID: "test",
            identity: index.map { [column($0, "TEXT")] } ?? id,
            primaryKey: index == nil ? [] : id,
            form: [
                SourceTableDescriptor.identityInForm: index ?? "key",
                SourceTableDescriptor.optionsInForm: options,
            ]
        )
    }

    private static func row(_ id: String, _ slug: String, _ name: String) -> SourceRow {
        ["id": .text(id), "slug": .text(slug), "code": .text("c" + id), "name": .text(name)]
    }

    /// A storage with the rows `a`, `b` and `c`, and their table.
    private static func scenario(_ kind: TestedStorage) async throws -> (StorageScenario, SourceTable) {
        var scenario = try await StorageScenario(config, on: kind)
        let table = try await scenario.writer.resolveTable(descriptor()).table
        try await scenario.save(
            .update(row("a", "s-a", "one")),
            .update(row("b", "s-b", "two")),
            .update(row("c", "s-c", "three")),
            of: table
        )
        try await scenario.writer.markSnapshotDone(table, noCheckpointBefore: .at(0))
        try await scenario.commit()
        return (scenario, table)
    }

    /// Begins to name rows by other columns.
    private static func take(
        _ scenario: inout StorageScenario,
        _ descriptor: SourceTableDescriptor
    ) async throws -> SourceTable {
        let resolved = try await scenario.writer.resolveTable(descriptor)
        let earlier = try #require(resolved.earlier)
        #expect(resolved.outdated == [earlier] && !resolved.table.isSnapshotDone)
        let taken = try await scenario.writer.takeRows(of: earlier, into: resolved.table)
        #expect(taken.isSnapshotDone && taken.isOutdated)
        return taken
    }

    private static func isBlocked(_ scenario: inout StorageScenario) async throws -> Bool {
        try await scenario.writer.commit(.at(scenario.position + 1), createsEmptyCheckpoints: true) == .blocked
    }

    @Test(arguments: TestedStorage.all)
    func theSameRowsMakeNoOperations(_ kind: TestedStorage) async throws {
        var (scenario, _) = try await Self.scenario(kind)
        let before = try await scenario.operations("g|0[]")
        let entries = try await scenario.lookUp(#"0["a"]"#)
        for descriptor in [
            Self.descriptor("slug"), Self.descriptor("code"), Self.descriptor(), Self.descriptor(options: "2"),
            Self.descriptor("slug", options: "3"),
        ] {
            let table = try await Self.take(&scenario, descriptor)
            // Clients get checkpoints meanwhile.
            try await scenario.commit()
            try await scenario.save(
                .update(Self.row("a", "s-a", "one")),
                .update(Self.row("b", "s-b", "two")),
                .update(Self.row("c", "s-c", "three")),
                of: table
            )
            try await scenario.commit()
            try await scenario.writer.markFilled(table, forConfig: 1)
            try await scenario.commit()
            #expect(scenario.writer.sourceTables.map(\.descriptor) == [descriptor])
            #expect(scenario.writer.sourceTables.allSatisfy { !$0.isOutdated && $0.earlier == nil })
        }
        #expect(try await scenario.operations("g|0[]") == before)
        #expect(try await scenario.lookUp(#"0["a"]"#) == entries)

        // What comes afterwards takes the places of what was given before.
        let table = try #require(scenario.writer.sourceTables.first)
        try await scenario.save(
            .update(Self.row("a", "s-a", "other")),
            // Another value of the index: the same row.
            .update(Self.row("b", "s-x", "two"), oldKey: ["s-b"]),
            .update(Self.row("b", "s-x", "four")),
            // Another primary key: another row.
            .update(Self.row("d", "s-c", "three")),
            of: table
        )
        try await scenario.save(.delete(key: ["s-a"]), of: table)
        try await scenario.commit()
        let after = try await scenario.operations("g|0[]").dropFirst(before.count)
        #expect(after.map { "\($0.kind) \($0.id)" } == ["PUT a", "PUT b", "REMOVE c", "PUT d", "REMOVE a"])
        let subkeys = Dictionary(before.map { ($0.id, $0.subkey) }) { $1 }
        #expect(after.allSatisfy { $0.id == "d" || $0.subkey == subkeys[$0.id] })
        #expect(
            try await scenario.rows("g|0[]") == [
                "test/b": #"{"id":"b","name":"four"}"#, "test/d": #"{"id":"d","name":"three"}"#,
            ]
        )
        #expect(try await scenario.lookUp(#"0["a"]"#).isEmpty)
        #expect(try await scenario.lookUp(#"0["b"]"#) == [ParameterRow(values: ["four"])])
    }

    /// A row that cannot be found is still with clients until the table has been read, so there is no checkpoint until then.
    @Test(arguments: TestedStorage.all, [false, true])
    func rowsThatCannotBeFoundHoldCheckpoints(_ kind: TestedStorage, reopens: Bool) async throws {
        // The one in memory has nothing after its end.
        if reopens, kind == .inMemory { return }
        var (scenario, _) = try await Self.scenario(kind)
        var table = try await Self.take(&scenario, Self.descriptor("slug"))
        try await scenario.save(.update(Self.row("n", "s-n", "new"), isNew: true), of: table)
        try await scenario.commit()
        let changes: [SourceChange] = [
            .delete(key: ["s-a"]), .update(Self.row("z", "s-b", "two")),
            .update(Self.row("c", "s-y", "three"), oldKey: ["s-c"]),
        ]
        _ = try await scenario.writer.save(changes, of: table, mode: .stream)
        #expect(try await Self.isBlocked(&scenario))
        #expect(try await Self.isBlocked(&scenario))
        if reopens {
            try await scenario.reopen()
            let resolved = try await scenario.writer.resolveTable(Self.descriptor("slug"))
            table = resolved.table
            #expect(resolved.earlier?.id == table.earlier?.id && table.isSnapshotDone && table.isOutdated)
            _ = try await scenario.writer.save(changes, of: table, mode: .stream)
            #expect(try await Self.isBlocked(&scenario))
        }
        try await scenario.save(
            .update(Self.row("z", "s-b", "two")),
            .update(Self.row("c", "s-y", "three")),
            .update(Self.row("n", "s-n", "new")),
            of: table
        )
        try await scenario.writer.markFilled(table, forConfig: 1)
        try await scenario.commit()
        #expect(
            try await scenario.summary("g|0[]").sorted() == [
                "PUT a", "PUT b", "PUT c", "PUT n", "PUT z", "REMOVE a", "REMOVE b",
            ]
        )
        #expect(
            try await scenario.rows("g|0[]") == [
                "test/c": #"{"id":"c","name":"three"}"#, "test/n": #"{"id":"n","name":"new"}"#,
                "test/z": #"{"id":"z","name":"two"}"#,
            ]
        )
    }

    @Test(arguments: TestedStorage.all)
    func aTableThatIsEmptiedMeanwhileHasNothingLeft(_ kind: TestedStorage) async throws {
        var (scenario, _) = try await Self.scenario(kind)
        let table = try await Self.take(&scenario, Self.descriptor("slug"))
        try await scenario.save(.update(Self.row("a", "s-a", "one")), of: table)
        try await scenario.writer.truncate(table)
        try await scenario.save(.update(Self.row("b", "s-b", "two"), isNew: true), of: table)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]") == ["test/b": #"{"id":"b","name":"two"}"#])
        try await scenario.writer.markFilled(table, forConfig: 1)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]") == ["test/b": #"{"id":"b","name":"two"}"#])
    }

    @Test func onlyTheSameRowsAreTaken() {
        let table = Self.descriptor("slug")
        #expect(table.hasSameRows(as: Self.descriptor()) && Self.descriptor().hasSameRows(as: table))
        var other = table
        other.relationID = "other"
        #expect(!other.hasSameRows(as: Self.descriptor()))
        other = table
        other.primaryKey = [Self.column("name", "TEXT")]
        #expect(!other.hasSameRows(as: Self.descriptor()))
        other = table
        other.form["rewritten rows"] = "2"
        #expect(!other.hasSameRows(as: table) && !other.hasSameRows(as: Self.descriptor()))
        // The same key in another form may have been another one in between.
        other = Self.descriptor()
        other.form[SourceTableDescriptor.identityInForm] = "key of another name"
        #expect(!other.hasSameRows(as: Self.descriptor()))
    }

    /// A table that was left out in its new form has changes that were not followed: it is copied.
    @Test func rowsThatWereNotFollowedAreNotTaken() async throws {
        var (scenario, _) = try await Self.scenario(.inMemory)
        #expect(try await scenario.writer.resolveTable(Self.descriptor("slug")).earlier != nil)
        #expect(try await scenario.writer.resolveTable(Self.descriptor("slug")).earlier == nil)
    }

    @Test(arguments: [descriptor(), descriptor("slug")])
    func aPrimaryKeyBesideTheIdentityIsKept(_ table: SourceTableDescriptor) throws {
        let stored = try SourceTableDescriptor(
            name: table.name,
            relationID: table.relationID,
            encodedIdentity: table.encodedIdentity(),
            encodedForm: table.encodedForm(),
            encodedColumns: table.encodedColumns()
        )
        #expect(stored == table)
    }
}
