import NIOConcurrencyHelpers
package import PowerSyncProtocol

/// A sync service that behaves, and the backend behind it: a few buckets of rows with one column each.
///
/// What a client gets is worked out from what it has asked for. Every upload is remembered.
package final class ModelService: Sendable {
    /// An entry of a client's upload queue that the backend has taken.
    package struct Upload: Sendable, Equatable {
        package var row: String
        /// `nil` deletes the row.
        package var value: String?
        /// The id of the entry in the client's queue.
        package var entry: Int64

        package init(row: String, value: String?, entry: Int64) {
            (self.row, self.value, self.entry) = (row, value, entry)
        }
    }

    fileprivate struct State {
        var buckets: [ModelBucket]
        var lastOpID: Int64 = 0
        var random: SeededGenerator
        var writeCheckpoints: [String: Int64] = [:]
        var uploads: [Upload] = []
    }

    /// The table of all rows.
    package let table: String
    /// The column of the table.
    package let column: String
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - table: The table of all rows.
    ///   - column: The column of the table.
    ///   - priorities: Those of the buckets `b0`, `b1`, ….
    ///   - seed: Determines checksums and changes.
    package init(table: String = "lists", column: String = "name", priorities: [Int32] = [0, 1, 3, 3], seed: UInt64) {
        self.table = table
        self.column = column
        let buckets = priorities.enumerated().map { ModelBucket(name: "b\($0.offset)", priority: $0.element) }
        state = NIOLockedValueBox(State(buckets: buckets, random: SeededGenerator(seed: seed)))
    }

    private init(table: String, column: String, state: State) {
        self.table = table
        self.column = column
        self.state = NIOLockedValueBox(state)
    }

    /// Another service that has done the same so far.
    package func copy() -> ModelService {
        ModelService(table: table, column: column, state: state.withLockedValue { $0 })
    }

    /// The rows that a client has when it has everything.
    package var rows: [String: String] {
        state.withLockedValue { state in
            state.buckets.filter(\.isVisible).reduce(into: [:]) { $0.merge($1.rows()) { first, _ in first } }
        }
    }

    /// The bucket of a name.
    package func bucket(_ name: String) -> ModelBucket? {
        state.withLockedValue { state in state.buckets.first { $0.name == name } }
    }

    /// The values that a row has ever had.
    package func values(of row: String) -> Set<String> {
        state.withLockedValue { state in state.buckets.reduce(into: []) { $0.formUnion($1.values(of: row)) } }
    }

    /// What the backend has taken, in order.
    package var uploads: [Upload] { state.withLockedValue { $0.uploads } }

    /// Writes rows.
    package func put(_ rows: [String: String]) {
        state.withLockedValue { state in
            for (row, value) in rows.sorted(by: { $0.key < $1.key }) { state.write(row, value) }
        }
    }

    /// The backend takes an upload; what it makes of it is told from what the client wrote.
    package func upload(_ uploads: [Upload]) {
        state.withLockedValue { state in
            state.uploads += uploads
            for upload in uploads { state.write(upload.row, upload.value.map(ModelService.uploaded)) }
        }
    }

    /// What the backend makes of a client's value.
    package static func uploaded(_ value: String) -> String { "server's \(value)" }

    /// A write checkpoint that later checkpoints repeat.
    package func writeCheckpoint(_ clientID: String) -> Int64 {
        state.withLockedValue { state in
            state.writeCheckpoints[clientID, default: 0] += 1
            return state.writeCheckpoints[clientID] ?? 0
        }
    }

    /// Changes a few things at random: rows mostly, sometimes buckets.
    package func change(count: Int = 1) {
        state.withLockedValue { state in
            for _ in 0..<count { state.change() }
        }
    }

    /// Changes the priority of a bucket.
    package func setPriority(of bucket: Int, to priority: Int32) {
        state.withLockedValue { $0.buckets[bucket].priority = priority }
    }

    /// Takes a bucket away from all clients, or gives it back.
    package func setVisible(_ isVisible: Bool, bucket: Int) {
        state.withLockedValue { $0.buckets[bucket].isVisible = isVisible }
    }

    /// Compacts all buckets.
    package func compact() {
        state.withLockedValue { state in
            for index in state.buckets.indices { state.buckets[index].compact() }
        }
    }

    /// What a client is to be sent next; nothing if it has everything.
    package func nextLines(_ session: inout ModelSession) -> [SyncLine] {
        let (buckets, lastOpID, writeCheckpoint) = state.withLockedValue { state in
            (state.buckets.filter(\.isVisible), state.lastOpID, state.writeCheckpoints[session.clientID])
        }
        return session.lines(
            buckets: buckets,
            lastOpID: lastOpID,
            writeCheckpoint: writeCheckpoint.map { WriteCheckpoint($0) },
            table: table,
            column: column
        )
    }
}

extension ModelService.State {
    /// Writes or deletes a row in the bucket that it belongs to for ever.
    fileprivate mutating func write(_ row: String, _ value: String?) {
        let index = row.utf8.reduce(0) { $0 &* 31 &+ Int($1) } % buckets.count
        lastOpID += 1
        buckets[index].append(
            ModelBucket.Operation(
                opID: lastOpID,
                kind: value == nil ? .remove : .put,
                row: row,
                value: value,
                checksum: Checksum(UInt32.random(in: 1 ... .max, using: &random))
            )
        )
    }

    fileprivate mutating func change() {
        let row = "s\(random.number(below: 40))"
        switch random.number(below: 20) {
        case 0: buckets[random.number(below: buckets.count)].compact()
        case 1...4: write(row, nil)
        default: write(row, "value \(random.number(below: 1000))")
        }
    }
}
