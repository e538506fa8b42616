import PowerSyncSyncConfig
import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

/// Both sides of the exchange, one after the other.
@Suite(.timeLimit(.minutes(1))) struct TableFillTests {
    private let table = SourceTable(
        id: "t",
        descriptor: SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: "test"),
            relationID: "1",
            identity: [.init(name: "id", type: "text")]
        )
    )

    private func makeFill(maximumKeys: Int = TableFill.maximumKeys) -> TableFill {
        let fill = TableFill(number: 2, tables: [table], added: nil, isWhole: true, maximumKeys: maximumKeys)
        fill.begin(table)
        return fill
    }

    private static func row(_ id: String) -> SourceRow { ["id": .text(id)] }

    /// What the reader offers of rows.
    private func offer(_ ids: String..., at high: LSN, to fill: TableFill) {
        fill.offer(.rows(ids.map(record), upTo: key(ids.last ?? "")), at: high)
    }

    private func record(_ id: String) -> PendingRecord {
        let names = table.descriptor.identity.map(\.name)
        let key = ReplicaID(names: names, values: [.text(id)])
        return PendingRecord(kind: .update, tableID: table.id, beforeKey: key, skipsStoredRow: false, size: 64)
    }

    private func key(_ id: String) -> SnapshotKey { SnapshotKey(rawValue: Array(id.utf8)) }

    /// The ids of the rows that the follower saves, and whether the reader may go on.
    private func taken(_ fill: TableFill, at position: LSN) async throws -> (ids: [String], goesOn: Bool)? {
        try fill.reached(position)
        guard case .rows(let records, let key, table)? = try fill.take() else { return nil }
        fill.didTake()
        let goesOn = try await fill.waitUntilTaken()
        #expect(goesOn == (key != nil))
        let ids = ["a", "b", "c", "d", "e", "f"]
        return (records.compactMap { taken in ids.first { record($0).beforeKey == taken.beforeKey } }, goesOn)
    }

    @Test func rowsAreTakenAtThePositionThatShowsThem() async throws {
        let fill = makeFill()
        offer("a", "b", at: LSN("5"), to: fill)
        #expect(try await taken(fill, at: LSN("4")) == nil)
        let rows = try #require(try await taken(fill, at: LSN("5")))
        #expect(rows.ids == ["a", "b"] && rows.goesOn)
        #expect(try await taken(fill, at: LSN("6")) == nil)
    }

    /// Whichever rows are being read: a row that comes later was read before the change, perhaps.
    @Test func changedRowsAreLeftOutUntilTheTableIsRead() async throws {
        let fill = makeFill()
        let changes: [SourceChange] = [.update(Self.row("c"), oldKey: [.text("d")]), .delete(key: [.text("f")])]
        fill.note(.changes(changes, relationID: "1"))
        fill.note(.changes([.insert(Self.row("a"))], relationID: "2"))
        offer("a", "b", at: LSN("1"), to: fill)
        #expect(try await taken(fill, at: LSN("1"))?.ids == ["a", "b"])
        offer("c", "d", "e", "f", at: LSN("2"), to: fill)
        #expect(try await taken(fill, at: LSN("2"))?.ids == ["e"])
        // What comes after another beginning is as it was then.
        fill.begin(table)
        offer("c", "f", at: LSN("3"), to: fill)
        #expect(try await taken(fill, at: LSN("3"))?.ids == ["c", "f"])
    }

    @Test(arguments: [true, false])
    func theRestIsReadOnceMoreAfterTooManyChangesOrATruncation(isTruncated: Bool) async throws {
        let fill = makeFill(maximumKeys: 2)
        offer("a", at: LSN("1"), to: fill)
        #expect(try await taken(fill, at: LSN("1"))?.goesOn == true)
        for id in isTruncated ? [] : ["x", "y", "z"] { fill.note(.changes([.insert(Self.row(id))], relationID: "1")) }
        if isTruncated { fill.note(.truncate(relationID: "1")) }
        offer("b", at: LSN("2"), to: fill)
        let rows = try #require(try await taken(fill, at: LSN("2")))
        #expect(rows.ids.isEmpty && !rows.goesOn)
        fill.begin(table)
        offer("b", at: LSN("3"), to: fill)
        let again = try #require(try await taken(fill, at: LSN("3")))
        #expect(again.ids == ["b"] && again.goesOn)
    }

    /// It need not wait for a marker, which is written to the disk of the source.
    @Test func aFollowerThatWaitsTakesWhatIsOfferedAtItsPosition() async throws {
        let fill = makeFill()
        try fill.reached(LSN("5"))
        #expect(fill.hasReached(LSN("5")) && !fill.hasReached(LSN("6")))
        fill.awaitChanges()
        async let goesOn = fill.waitForOffer()
        offer("a", at: LSN("5"), to: fill)
        #expect(try await goesOn)
        #expect(try await taken(fill, at: LSN("5"))?.ids == ["a"])
        // An end comes when a checkpoint shows the rows: when changes have been saved once more.
        fill.offer(.table, at: nil)
        #expect(try fill.take().map { _ in true } == nil)
        fill.awaitChanges()
        async let endComes = fill.waitForOffer()
        fill.changesHaveCome()
        #expect(try await !endComes)
        try fill.reached(LSN("5"))
        guard case .table? = try fill.take() else {
            Issue.record("the end was not taken")
            return
        }
    }

    @Test func changesThatHaveComeAreLookedAtFirst() async throws {
        let fill = makeFill()
        try fill.reached(LSN("5"))
        fill.awaitChanges()
        offer("a", at: LSN("5"), to: fill)
        fill.changesHaveCome()
        #expect(try await !fill.waitForOffer())
        // Rows that show what has not been saved yet are not taken.
        offer("b", at: LSN("6"), to: fill)
        fill.awaitChanges()
        async let goesOn = fill.waitForOffer()
        fill.changesHaveCome()
        #expect(try await !goesOn)
    }

    @Test func aFollowerThatWaitsHearsOfTheReadersFailure() async throws {
        struct Failure: Error {}
        let fill = makeFill()
        fill.awaitChanges()
        async let goesOn = fill.waitForOffer()
        fill.fail(Failure())
        #expect(try await goesOn)
        #expect(throws: Failure.self) { try fill.take() }
    }

    @Test func theFollowerFailsWithTheReader() throws {
        struct Failure: Error {}
        let fill = makeFill()
        try fill.reached(LSN("1"))
        fill.fail(Failure())
        #expect(throws: Failure.self) { try fill.reached(LSN("2")) }
    }
}
