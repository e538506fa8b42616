import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Whatever stands in the upload queue, `uploadData` can see it, skip it, park it and go on.
@Suite(.timeLimit(.minutes(1))) struct DamagedEntryTests {
    private let harness = SyncHarness()

    /// Texts that earlier versions, other implementations and triggers of apps have left in queues.
    private static let texts = [
        #"{"op":"PUT","id":"x","type":"lists","data":{"name":9.0e+999}}"#,
        #"{"op":"PUT","id":"x","type":"lists","data":{"name":NaN}}"#, #"{"op":"PUT","id":"x""#, "", "[]", "null",
        #"{"op":"MERGE","id":"x","type":"lists"}"#, #"{"op":"PUT","id":"x","type":"lists","data":{"name":"\ud800"}}"#,
    ]

    /// Puts damaged entries into the queue, each a transaction of its own, and a good one behind them.
    private func poison(_ count: Int) async throws {
        let texts = Self.texts
        try await harness.database.writeTransaction { transaction in
            for index in 0..<count {
                try transaction.execute(
                    sql: "INSERT INTO ps_crud(tx_id, data) VALUES (?, ?)",
                    parameters: [-index, texts[index % texts.count]]
                )
            }
        }
        try await harness.insert("good", name: "good")
    }

    @Test(arguments: [UploadRejectionPolicy.skip, .park]) func aGoodEntryBehindManyDamagedOnesIsUploaded(
        _ policy: UploadRejectionPolicy
    ) async throws {
        let count = policy == .skip ? 10_000 : 1_000
        try await poison(count)
        let uploaded = UploadedNames()
        harness.connector.onUpload { database, _ in
            while let batch = try await database.getCrudBatch(limit: 1_000) {
                let damaged = batch.crud.filter { $0.damage != nil }
                guard damaged.isEmpty else {
                    throw UploadRejectionError(
                        damaged.map { UploadRejection($0, reason: $0.damage?.localizedDescription ?? "") }
                    )
                }
                uploaded.append(batch.crud.map { $0.opData?["name"] ?? nil })
                try await batch.complete()
            }
        }
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: policy))
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(uploaded.names == [["good"]])
        let rejected = try await harness.database.rejectedWrites()
        #expect(rejected.count == count)
        #expect(rejected.allSatisfy { $0.entry.damage?.rawText == Self.texts[Int($0.id - 1) % Self.texts.count] })
        #expect(harness.log.messages(.error).isEmpty)
    }

    /// Transactions and batches come with what can be read, and are completed like any other.
    @Test func damagedTransactionsAreCompleted() async throws {
        try await poison(Self.texts.count)
        var reasons: [String] = []
        var names: [String?] = []
        while let transaction = try await harness.database.getNextCrudTransaction() {
            reasons += transaction.crud.compactMap { $0.damage?.localizedDescription }
            names += transaction.crud.map { $0.opData?["name"] ?? nil }
            try await transaction.complete()
        }
        #expect(reasons.count == Self.texts.count)
        #expect(reasons.allSatisfy { $0.contains("of the upload queue") })
        #expect(names == ["Infinity", nil, nil, nil, nil, nil, nil, "\u{fffd}", "good"])
        #expect(try await harness.database.getUploadQueueStats().count == 0)
    }
}
