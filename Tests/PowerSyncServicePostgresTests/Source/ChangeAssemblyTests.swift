import NIOCore
import PowerSyncRules
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Messages of `pgoutput` as messages of a source.
@Suite struct ChangeAssemblyTests {
    private var assembly: ChangeAssembly

    init() {
        let table = PostgresTable(
            oid: 7,
            name: SourceTableName(schema: "public", name: "lists"),
            columns: [
                .init(name: "id", type: 25, isInIdentity: true), .init(name: "name", type: 25, isInIdentity: false),
            ],
            rowFilter: nil,
            isIdentityFull: false,
            fingerprint: 1
        )
        let options = SourceValueOptions()
        assembly = ChangeAssembly([
            FollowedTable(
                descriptor: table.descriptor(options),
                table: table,
                decoder: RowDecoder(table, PostgresTypeRegistry(), options) { _, _, _ in },
                copied: TransactionSnapshot("100:102:101")
            )
        ])
    }

    private static let relation = PgoutputRelation(
        oid: 7,
        schema: "public",
        name: "lists",
        replicaIdentity: .primaryKey,
        columns: [
            .init(isInIdentity: true, name: "id", type: 25, typeModifier: -1),
            .init(isInIdentity: false, name: "name", type: 25, typeModifier: -1),
        ]
    )

    private func begin(_ id: UInt32, _ position: UInt64) -> PgoutputMessage {
        .begin(commit: WALPosition(rawValue: position), committedAt: PostgresInstant(rawValue: 0), transactionID: id)
    }

    private func commit(_ position: UInt64) -> PgoutputMessage {
        .commit(
            commit: WALPosition(rawValue: position),
            end: WALPosition(rawValue: position + 8),
            committedAt: PostgresInstant(rawValue: 0)
        )
    }

    /// A tuple; a missing text stands for a large value that stays.
    private func tuple(_ texts: String?...) -> PgoutputTuple {
        var buffer = ByteBuffer()
        for text in texts {
            guard let text else {
                buffer.writeInteger(UInt8(ascii: "u"))
                continue
            }
            buffer.writeInteger(UInt8(ascii: "t"))
            buffer.writeInteger(Int32(text.utf8.count))
            buffer.writeString(text)
        }
        return PgoutputTuple(checked: buffer, count: texts.count, hasUnchanged: texts.contains(nil))
    }

    private func insert(_ id: String) -> PgoutputMessage { .insert(relation: 7, new: tuple(id, "n")) }

    /// The messages that have been assembled, in a few words.
    private mutating func taken() -> [String] {
        assembly.take().map { message in
            switch message {
            case .begin(let lsn, _): "begin \(lsn)"
            case .commit(let lsn): "commit \(lsn)"
            case .changes(let changes, _):
                changes.map { change in
                    if let row = change.row {
                        "put \(row.values) \(change.oldKey ?? [])"
                    } else {
                        "delete \(change.oldKey ?? [])"
                    }
                }.joined(separator: ", ")
            case .partialUpdates(let updates, _):
                updates.map { "part \($0.row.columns.map(\.name)) \($0.oldKey ?? [])" }.joined(separator: ", ")
            case .truncate: "truncate"
            case .marker: "marker"
            case .tablesChanged: "tables changed"
            }
        }
    }

    private mutating func add(_ messages: PgoutputMessage...) throws {
        for message in messages { try assembly.add(message) }
    }

    @Test mutating func rowsWithOtherColumnsThanTheirTableAreErrors() throws {
        try assembly.add(.relation(Self.relation))
        try assembly.add(begin(200, 16))
        let messages: [PgoutputMessage] = [
            .insert(relation: 7, new: tuple("a", "n", "more")), .insert(relation: 7, new: tuple("a")),
            .update(relation: 7, old: nil, new: tuple("a", "n", "more")),
            .update(relation: 7, old: .full(tuple("a")), new: tuple("a", "n")),
            .delete(relation: 7, old: .key(tuple())),
        ]
        for message in messages {
            let error = #expect(throws: PgoutputError.self) { try assembly.add(message) }
            #expect(error?.description.contains("the table has 2") == true)
        }
    }

    @Test mutating func transactionsThatAreTakenTogetherHaveOneBoundary() throws {
        try add(
            .relation(Self.relation),
            begin(200, 16),
            insert("a"),
            commit(16),
            begin(201, 32),
            insert("b"),
            commit(32)
        )
        #expect(
            taken() == [
                "begin 00000000/00000011", #"put ["a", "n"] []"#, "begin 00000000/00000021",
                #"put ["b", "n"] []"#, "commit 00000000/00000028",
            ]
        )
        #expect(taken() == [])
    }

    @Test mutating func aTransactionAtTheLastPositionThereIsEndsNothing() throws {
        try add(.relation(Self.relation), begin(200, .max), insert("a"))
        #expect(taken() == ["begin 00000000/00000000", #"put ["a", "n"] []"#])
    }

    @Test mutating func theBoundaryComesBeforeATransactionThatGoesOn() throws {
        try add(.relation(Self.relation), begin(200, 16), insert("a"), commit(16), begin(201, 32), insert("b"))
        #expect(
            taken() == [
                "begin 00000000/00000011", #"put ["a", "n"] []"#, "commit 00000000/00000018",
                "begin 00000000/00000021", #"put ["b", "n"] []"#,
            ]
        )
        try add(insert("c"))
        #expect(taken() == [#"put ["c", "n"] []"#])
        try add(commit(32))
        #expect(taken() == ["commit 00000000/00000028"])
    }

    @Test mutating func whatACopyHasSeenIsLeftOut() throws {
        try add(
            .relation(Self.relation),
            begin(100, 16),
            insert("a"),
            .truncate(relations: [7], options: []),
            commit(16)
        )
        #expect(taken() == ["commit 00000000/00000018"])
        try add(begin(101, 32), insert("b"), commit(32))
        #expect(taken() == ["begin 00000000/00000021", #"put ["b", "n"] []"#, "commit 00000000/00000028"])
    }

    @Test mutating func largeValuesThatStayArePartialUpdates() throws {
        try add(
            .relation(Self.relation),
            begin(200, 16),
            .update(relation: 7, old: nil, new: tuple("a", nil)),
            .update(relation: 7, old: .key(tuple("a", "")), new: tuple("b", nil)),
            .update(relation: 7, old: .key(tuple("c", "")), new: tuple(nil, "x")),
            .delete(relation: 7, old: .key(tuple("b", "")))
        )
        #expect(
            taken() == [
                "begin 00000000/00000011", #"part ["id"] [], part ["id"] ["a"]"#,
                #"put ["c", "x"] [], delete ["b"]"#,
            ]
        )
    }

    @Test mutating func changesOfAnAlteredTableAreReadByTheirKeys() throws {
        var altered = Self.relation
        altered.columns[1].name = "title"
        try add(.relation(altered), begin(200, 16), insert("a"), .delete(relation: 7, old: .key(tuple("b", ""))))
        #expect(assembly.mayHaveOtherTables && !assembly.hasOtherTables)
        #expect(taken() == ["begin 00000000/00000011", #"part ["id"] []"#, #"delete ["b"]"#])
    }

    @Test mutating func changesWithoutTheKeyMeanOtherTables() throws {
        var altered = Self.relation
        altered.columns[0].name = "key"
        try add(.relation(altered), begin(200, 16), insert("a"))
        #expect(assembly.hasOtherTables)
    }

    @Test mutating func tablesThatNobodyFollowsSayOnlyThatTheyAreThere() throws {
        var other = Self.relation
        other.oid = 8
        try add(.relation(other), begin(200, 16), .insert(relation: 8, new: tuple("a", "n")), commit(16))
        #expect(assembly.mayHaveOtherTables)
        #expect(taken() == ["commit 00000000/00000018"])
    }
}
