import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// What transactions have changed that may be undone, or take effect later.
@Suite struct ChangedRowsTests {
    private let table = MySQLTable.made("lists").descriptor(SourceValueOptions())

    private func rows(_ keys: String...) -> ChangedRows {
        var rows = ChangedRows()
        for key in keys { rows.add([.text(key)], of: table) }
        return rows
    }

    private func texts(_ rows: ChangedRows?) -> Set<String>? {
        guard let keys = rows?.keys[table] else { return rows == nil ? nil : [] }
        return keys.map { Set($0.map { "\($0)" }) }
    }

    private func texts(_ keys: String...) -> Set<String> { Set(keys.map { "\([SQLValue.text($0)])" }) }

    // MARK: Savepoints

    @Test func aSavepointUndoesTheLaterOnes() {
        var savepoints = Savepoints()
        #expect(savepoints.isEmpty)
        for name in ["a", "b", "c"] {
            savepoints.begin(name)
            savepoints.add([.text("after \(name)")], of: table)
        }
        #expect(texts(savepoints.undo(to: "b")) == texts("after b", "after c"))
        #expect(savepoints.undo(to: "c") == nil)
        savepoints.add([.text("again")], of: table)
        #expect(texts(savepoints.undo(to: "b")) == texts("again"))
        #expect(texts(savepoints.undo(to: "a")) == texts("after a"))
    }

    @Test func aNameThatIsUsedAgainIsTheLaterSavepoint() {
        var savepoints = Savepoints()
        for name in ["a", "b", "a"] {
            savepoints.begin(name)
            savepoints.add([.text("after \(name)")], of: table)
        }
        #expect(texts(savepoints.undo(to: "a")) == texts("after a"))
        #expect(texts(savepoints.undo(to: "b")) == texts("after b"))
        for name in ["s", "t", "t"] {
            savepoints.begin(name)
            savepoints.add([.text("after \(name)")], of: table)
        }
        #expect(texts(savepoints.undo(to: "s")) == texts("after s", "after t"))
    }

    @Test func theOldestSavepointsAreForgotten() {
        var savepoints = Savepoints()
        for number in 0...Savepoints.maximumCount { savepoints.begin("\(number)") }
        #expect(savepoints.undo(to: "0") == nil)
        #expect(savepoints.undo(to: "\(Savepoints.maximumCount / 2)") != nil)
    }

    @Test func rowsOfAllSavepointsAreCounted() {
        var savepoints = Savepoints()
        savepoints.begin("a")
        for number in 0..<ChangedRows.maximumCount { savepoints.add([.integer(Int64(number))], of: table) }
        savepoints.begin("b")
        savepoints.add([.text("one more")], of: table)
        #expect(savepoints.undo(to: "b")?.keys == [table: nil])
    }

    // MARK: Prepared transactions

    private let name = TransactionName(format: 1, global: [1], branch: [])

    @Test func aNameThatIsUsedAgainIsAnotherTransaction() {
        var prepared = PreparedTransactions()
        for _ in 0..<2 {
            // The second time, the log is read once more from behind the first preparation.
            prepared.add(name, rows("a"), at: MadeLog.position(100))
            #expect(texts(prepared.end(name, at: MadeLog.position(200))) == texts("a"))
            prepared.add(name, rows("b"), at: MadeLog.position(300))
            #expect(texts(prepared.end(name, at: MadeLog.position(400))) == texts("b"))
        }
        #expect(texts(prepared.end(name, at: MadeLog.position(200))) == texts("a"))
        #expect(prepared.end(name, at: MadeLog.position(500)) == nil)
        #expect(prepared.count == 2)
        prepared.forget(before: MadeLog.position(200))
        #expect(prepared.count == 1)
        prepared.forget(before: MadeLog.position(400))
        #expect(prepared.count == 0)
    }

    @Test func endedTransactionsAreForgottenWhenTheyAreMany() {
        var prepared = PreparedTransactions()
        for number in 0..<UInt64(3 * PreparedTransactions.maximumEnded) {
            let name = TransactionName(format: 1, global: Array("\(number)".utf8), branch: [])
            prepared.add(name, rows("a"), at: MadeLog.position(10 * number))
            #expect(prepared.end(name, at: MadeLog.position(10 * number + 5)) != nil)
        }
        #expect(prepared.count == PreparedTransactions.maximumEnded)
        prepared.add(name, rows("b"), at: MadeLog.position(1_000_000))
        #expect(prepared.count == PreparedTransactions.maximumEnded + 1)
    }

    @Test func endedTransactionsAreForgottenWhenTheyHaveManyRows() {
        var large = ChangedRows()
        for number in 0..<ChangedRows.maximumCount / 2 { large.add([.integer(Int64(number))], of: table) }
        var prepared = PreparedTransactions()
        for number in 0..<UInt64(5) {
            let name = TransactionName(format: 1, global: [UInt8(number)], branch: [])
            prepared.add(name, large, at: MadeLog.position(10 * number))
            #expect(prepared.end(name, at: MadeLog.position(10 * number + 5)) != nil)
        }
        #expect(prepared.count == 2)
    }
}
