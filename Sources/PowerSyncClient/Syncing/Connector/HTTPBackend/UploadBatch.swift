import Foundation
import PowerSyncProtocol
import PowerSyncUpload

/// Transactions from the head of the upload queue that go into one request.
struct UploadBatch: Sendable {
    /// The transactions, oldest first; at least one.
    private(set) var transactions: [CrudTransaction]
    /// The same as the backend gets it.
    private(set) var entries: [UploadEntry]

    /// Reads the head of the queue.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - maximumEntries: The most entries, unless the first transaction has more.
    ///   - maximumBytes: The most bytes of the entries as JSON, unless the first transaction has more.
    /// - Returns: `nil` when the queue is empty.
    /// - Throws: ``UploadRejectionError`` when the first transaction has damaged entries, which no backend can take.
    static func next(
        of database: any PowerSyncDatabaseProtocol,
        maximumEntries: Int,
        maximumBytes: Int
    ) async throws -> UploadBatch? {
        var batch = UploadBatch(transactions: [], entries: [])
        var bytes = 0
        for try await transaction in database.getCrudTransactions() {
            let damaged = transaction.crud.filter { $0.damage != nil }
            guard damaged.isEmpty else {
                // They are dealt with when they are at the head.
                guard batch.transactions.isEmpty else { break }
                throw UploadRejectionError(
                    damaged.map { UploadRejection($0, reason: $0.damage?.localizedDescription ?? "") }
                )
            }
            let entries = transaction.crud.map(UploadEntry.init)
            bytes += entries.reduce(0) { $0 + $1.json.text.utf8.count + 1 }
            if !batch.transactions.isEmpty {
                guard batch.entries.count + entries.count <= maximumEntries, bytes <= maximumBytes else { break }
            }
            batch.transactions.append(transaction)
            batch.entries += entries
            if batch.entries.count >= maximumEntries || bytes >= maximumBytes { break }
        }
        return batch.transactions.isEmpty ? nil : batch
    }
}

extension UploadBatch {
    /// What an answer of the backend means for the queue: how many transactions leave it, from its head, the writes behind these that will
    /// never be accepted, and what the backend says of a write that it wants again later.
    typealias Outcome = (completed: Int, rejections: [UploadRejection], later: EntryRejection?)

    /// Compares an answer with what was sent.
    ///
    /// - Parameter response: The answer.
    /// - Returns: What it means.
    /// - Throws: `UploadFormatError` when the answer cannot be one to this batch.
    func outcome(of response: UploadResponse) throws(UploadFormatError) -> Outcome {
        var outcome: Outcome = (0, [], nil)
        if let appliedThrough = response.appliedThrough {
            guard let last = entries.last, appliedThrough <= last.operationID else {
                throw UploadFormatError("applied_through is \(appliedThrough), which was not sent")
            }
            outcome.completed = transactions.count { ($0.crud.last?.clientId ?? .max) <= appliedThrough }
        }
        var sent: [Int64: (transaction: Int, entry: CrudEntry)] = [:]
        for (index, transaction) in transactions.enumerated() {
            for entry in transaction.crud { sent[entry.clientId] = (index, entry) }
        }
        for rejection in response.rejections {
            guard let (transaction, entry) = sent[rejection.operationID] else {
                throw UploadFormatError("a rejection names the write \(rejection.operationID), which was not sent")
            }
            // Whatever is said of later ones: nothing leaves the queue behind a write that stays in it.
            outcome.completed = min(outcome.completed, transaction)
            if rejection.isPermanent {
                outcome.rejections.append(UploadRejection(entry, reason: rejection.reason))
            } else {
                outcome.later = outcome.later ?? rejection
            }
        }
        return outcome
    }
}

extension EntryRejection {
    /// The message, or something to show in place of an empty one.
    fileprivate var reason: String { message.isEmpty ? "\(code) (\(status))" : message }
}
