package import PowerSync

/// The transactions that a worker commits: number 1 first, each known by its number alone.
///
/// | Number | Statements |
/// | --- | --- |
/// | every | inserts: 300 in every tenth transaction, else 1 to 5 |
/// | 2, 3, … | an update of the first row of the transaction before |
/// | 3, 6, 9, … | the deletion of the first row of the one before that |
package struct WorkerTransaction: Sendable {
    /// Which one it is.
    package let number: Int
    /// The worker.
    package let worker: String

    /// Creates a transaction of a worker.
    package init(_ number: Int, worker: String) {
        self.number = number
        self.worker = worker
    }

    private var insertCount: Int { number % 10 == 0 ? 300 : 1 + number % 5 }
    private var updates: Bool { number > 1 }
    private var deletes: Bool { number % 3 == 0 }

    /// How many entries of the upload queue it makes.
    package var entryCount: Int { insertCount + (updates ? 1 : 0) + (deletes ? 1 : 0) }

    /// How many rows there are more after it.
    package var addedRowCount: Int { insertCount - (deletes ? 1 : 0) }

    /// The title that its update sets.
    package var changedTitle: String { "changed by \(worker) \(number)" }

    /// Writes it.
    package func run(in transaction: any Transaction) throws {
        for row in 0..<insertCount {
            try transaction.execute(
                sql: "INSERT INTO items (id, title, batch, worker) VALUES (?, ?, ?, ?)",
                parameters: [id(number, row), String(repeating: "x", count: 200), number, worker]
            )
        }
        if updates {
            try transaction.execute(
                sql: "UPDATE items SET title = ? WHERE id = ?",
                parameters: [changedTitle, id(number - 1, 0)]
            )
        }
        if deletes {
            try transaction.execute(sql: "DELETE FROM items WHERE id = ?", parameters: [id(number - 2, 0)])
        }
    }

    private func id(_ number: Int, _ row: Int) -> String {
        "\(worker)-\(number)-\(row)"
    }
}
