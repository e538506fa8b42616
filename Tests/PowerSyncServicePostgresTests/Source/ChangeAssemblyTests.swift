import NIOCore
import PowerSyncSyncConfig
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Messages of `pgoutput` as messages of a source.
@Suite struct ChangeAssemblyTests {
    private var assembly: ChangeAssembly

    init() { self.init(isIdentityFull: false) }

    private init(isIdentityFull: Bool) {
        let table = PostgresTable(
            oid: 7,
            name: SourceTableName(schema: "public", name: "lists"),
            columns: [
                .init(name: "id", type: 25, isInIdentity: true),
                .init(name: "name", type: 25, isInIdentity: isIdentityFull),
            ],
            rowFilter: nil,
            isIdentityFull: isIdentityFull,
            fingerprint: TableFingerprint()
        )
        let options = SourceValueOptions()
        let followed = FollowedTable(
            descriptor: table.descriptor(options),
            table: table,
            decoder: RowDecoder(table, PostgresTypeRegistry(), options) { _, _, _ in },
            copied: TransactionSnapshot("100:102:101")
        )
        assembly = ChangeAssembly([followed], nextTransaction: TransactionID(rawValue: 300))
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
            case .begin(let lsn, _): "begin \(lsn.unmarked)"
            case .commit(let lsn): "commit \(lsn.unmarked)"
            case .changes(let changes, _):
                changes.map { change in
                    if let row = change.row {
                        "put \(row.values) \(change.oldKey ?? [])"
                    } else {
                        "delete \(change.oldKey ?? [])"
                    }
                }.joined(separator: ", ")
            case .partialUpdates(let updates, _):
                updates.map { update in
                    let source = update.sourceKey.map { " as \($0)" } ?? ""
                    let columns = update.row.columns.map(\.name)
                    return "part \(columns) \(update.oldKey ?? [])\(source) in \(update.moment?.rawValue ?? 0)"
                }.joined(separator: ", ")
            case .cascade: "cascade"
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

    @Test func rowsOfATableWithoutAKeyAreLookedForWhenOneIsGone() throws {
        var tests = Self(isIdentityFull: true)
        var relation = Self.relation
        relation.columns[1].isInIdentity = true
        try tests.add(
            .relation(relation),
            begin(200, 16),
            insert("a"),
            .update(relation: 7, old: .full(tuple("a", "n")), new: tuple("a", "n")),
            .update(relation: 7, old: .full(tuple("a", "n")), new: tuple(nil, "m")),
            .delete(relation: 7, old: .full(tuple("b", "n"))),
            commit(16)
        )
        let columns = #"["id", "name"]"#
        #expect(
            tests.taken() == [
                "commit 00000000/00000010", "begin 00000000/00000011", #"put ["a", "n"] [], put ["a", "n"] []"#,
                #"part \#(columns) [] as ["a", "n"] in 200, part \#(columns) [] as ["a", "m"] in 200, "#
                    + #"part \#(columns) [] as ["b", "n"] in 200"#,
                "commit 00000000/00000018",
            ]
        )
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

    @Test(arguments: [1 << 31, 3 << 31, 1 << 32, 5 << 32])
    mutating func copiesOfLongAgo(_ distance: UInt64) throws {
        let id = 102 + distance
        assembly.nextTransaction = TransactionID(rawValue: id + 10)
        try add(.relation(Self.relation), begin(UInt32(truncatingIfNeeded: id), 16), insert("a"), commit(16))
        #expect(taken() == ["begin 00000000/00000011", #"put ["a", "n"] []"#, "commit 00000000/00000018"])
    }

    @Test mutating func aBoundaryComesBeforeRowsAreRead() throws {
        let update = PgoutputMessage.update(relation: 7, old: nil, new: tuple("a", nil))
        try add(.relation(Self.relation), begin(200, 16), insert("a"), commit(16), begin(201, 32), insert("b"), update)
        // Between the end of a transaction and the commit of the next one there may be anything but a commit.
        #expect(
            taken() == [
                "begin 00000000/00000011", #"put ["a", "n"] []"#, "commit 00000000/00000020",
                "begin 00000000/00000021", #"put ["b", "n"] []"#, #"part ["id"] [] as ["a"] in 201"#,
            ]
        )
        // Once, and not in the middle.
        try add(update, commit(32), begin(202, 48), insert("c"))
        #expect(
            taken() == [
                #"part ["id"] [] as ["a"] in 201"#, "commit 00000000/00000028", "begin 00000000/00000031",
                #"put ["c", "n"] []"#,
            ]
        )
        try add(update, commit(48))
        #expect(taken() == [#"part ["id"] [] as ["a"] in 202"#, "commit 00000000/00000038"])
    }

    @Test mutating func columnsThatAreGoneAgainAreNoneOfTheTable() throws {
        var altered = Self.relation
        altered.columns.append(.init(isInIdentity: false, name: "tmp", type: 23, typeModifier: -1))
        try add(
            .relation(altered),
            begin(200, 16),
            .insert(relation: 7, new: tuple("a", "n", "1")),
            .update(relation: 7, old: .full(tuple("a", "n", "1")), new: tuple("a", nil, "2")),
            .delete(relation: 7, old: .full(tuple("a", "n", "2")))
        )
        #expect(
            taken() == [
                "begin 00000000/00000011", #"put ["a", "n"] [], put ["a", "n"] [], delete ["a"]"#,
            ]
        )
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
                "commit 00000000/00000010", "begin 00000000/00000011",
                #"part ["id"] [] as ["a"] in 200, part ["id"] ["a"] as ["b"] in 200"#,
                #"put ["c", "x"] [], delete ["b"]"#,
            ]
        )
    }

    @Test mutating func changesOfAnAlteredTableAreReadByTheirKeys() throws {
        var altered = Self.relation
        altered.columns[1].name = "title"
        try add(.relation(altered), begin(200, 16), insert("a"), .delete(relation: 7, old: .key(tuple("b", ""))))
        #expect(assembly.mayHaveOtherTables && assembly.tableOfUnassignable == nil)
        #expect(
            taken() == [
                "commit 00000000/00000010", "begin 00000000/00000011", #"part ["id"] [] as ["a"] in 200"#,
                #"delete ["b"]"#,
            ]
        )
    }

    @Test mutating func changesWithoutTheKeyMeanOtherTables() throws {
        var altered = Self.relation
        altered.columns[0].name = "key"
        try add(.relation(altered), begin(200, 16), insert("a"))
        #expect(assembly.tableOfUnassignable == 7)
    }

    @Test mutating func oldRowsWithAnotherIdentityMeanOtherTables() throws {
        var altered = Self.relation
        altered.replicaIdentity = .index
        altered.columns[0].isInIdentity = false
        altered.columns[1].isInIdentity = true
        try add(.relation(altered), begin(200, 16), insert("a"))
        #expect(assembly.tableOfUnassignable == nil)
        #expect(
            taken() == [
                "commit 00000000/00000010", "begin 00000000/00000011", #"part ["id"] [] as ["a"] in 200"#,
            ]
        )
        let begun = assembly
        let changes: [PgoutputMessage] = [
            .delete(relation: 7, old: .key(tuple("", "n"))),
            // The name has not changed, and perhaps the id.
            .update(relation: 7, old: nil, new: tuple("b", "n")),
            .update(relation: 7, old: .key(tuple("", "n")), new: tuple("a", "m")),
        ]
        for change in changes {
            assembly = begun
            try add(change)
            #expect(assembly.tableOfUnassignable == 7)
            #expect(taken() == [])
        }
    }

    @Test mutating func tablesThatNobodyFollowsSayOnlyThatTheyAreThere() throws {
        var other = Self.relation
        other.oid = 8
        try add(.relation(other), begin(200, 16), .insert(relation: 8, new: tuple("a", "n")), commit(16))
        #expect(assembly.mayHaveOtherTables)
        #expect(taken() == ["commit 00000000/00000018"])
    }
}
