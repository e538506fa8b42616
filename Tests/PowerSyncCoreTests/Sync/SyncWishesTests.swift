import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What the engine says of the upload queue: its driver neither looks into events nor into the engine.
@Suite struct SyncWishesTests {
    /// What happens in an iteration that has just been opened, and what the engine says to each step.
    struct Recording: CustomTestStringConvertible {
        enum Step {
            case line(SyncLine)
            case event(SyncEvent)
            /// The app writes a row.
            case write
            /// The queue was uploaded, and the service gave this write checkpoint.
            case upload(Int64)
        }

        var testDescription: String
        var steps: [(Step, wishes: [String])]
    }

    private static let checkpoint = Recording.Step.line(.checkpoint(3, [.bucket("a", count: 1)], writeCheckpoint: 4))
    private static let row = Recording.Step.line(.ops("a", .put(1, "x")))
    private static let recordings = [
        Recording(
            testDescription: "the first line, and keepalives",
            steps: [
                (checkpoint, ["look: news"]), (row, []), (.line(.done), []),
                (.line(.tokenExpires(in: 4000)), ["look: keepalive"]), (.line(.unknown(kind: "future")), []),
                (.line(.tokenExpires(in: 20)), ["look: keepalive"]), (.event(.keepaliveAnswered), ["look: keepalive"]),
            ]
        ),
        Recording(
            testDescription: "operations come first",
            steps: [(row, ["look: news"]), (checkpoint, [])]
        ),
        Recording(
            testDescription: "a keepalive is the first line",
            steps: [(.line(.tokenExpires(in: 4000)), ["look: news"]), (checkpoint, [])]
        ),
        Recording(
            testDescription: "an answered keepalive is no line",
            steps: [(.event(.keepaliveAnswered), ["look: keepalive"]), (checkpoint, ["look: news"])]
        ),
        Recording(
            testDescription: "a line that ends the iteration is no reason",
            steps: [(.line(.tokenExpires(in: 0)), [])]
        ),
        Recording(
            testDescription: "local writes hold a checkpoint back, until they are uploaded",
            steps: [
                (.write, []), (checkpoint, ["look: news"]), (row, []), (.line(.done), ["held back 3"]),
                (.line(.tokenExpires(in: 4000)), ["look: keepalive"]), (.event(.uploadCompleted), []),
                (.upload(4), []), (.event(.uploadCompleted), ["none held back"]), (.event(.uploadCompleted), []),
            ]
        ),
        Recording(
            testDescription: "the next checkpoint replaces the one that is held back",
            steps: [
                (.write, []), (checkpoint, ["look: news"]), (row, []), (.line(.done), ["held back 3"]),
                (.line(.diff(5, [])), ["none held back"]), (.line(.done), ["held back 5"]),
                (.line(.done), []), (.event(.streamEnded), ["none held back"]),
            ]
        ),
    ]

    @Test(arguments: recordings)
    func theEngineSaysWhatItWants(_ recording: Recording) throws {
        let scenario = try SyncScenario.started()
        for (index, (step, wishes)) in recording.steps.enumerated() {
            #expect(try perform(step, scenario).wishes == wishes, "step \(index)")
        }
    }

    @Test func whatIsHeldBackIsSaidOncePerTransactionAndFirst() throws {
        let scenario = try SyncScenario.started(.batched)
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        let first = try scenario.receive(.checkpoint(3, [.bucket("a", count: 1)]), .ops("a", .put(1, "x")), .done)
        #expect(first.wishes == ["held back 3", "look: news"])
        #expect(first.first == .heldBack(OpID(3)))
        // The checkpoint between them was held back at no end of a transaction.
        #expect(try scenario.receive(.diff(4, []), .done, .diff(5, []), .done).wishes == ["held back 5"])
        #expect(try scenario.send(.stop).kinds.last == "close(false)")
    }

    @Test func theNextIterationSaysThatNothingIsHeldBackAfterAFailure() throws {
        let scenario = try SyncScenario.started()
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        #expect(try scenario.receive(.checkpoint(3, []), .done).wishes == ["look: news", "held back 3"])
        scenario.failIteration()
        #expect(try scenario.send(.start(SyncStart())).wishes == ["none held back"])
        #expect(try scenario.receive(.checkpoint(3, [])).wishes == ["look: news"])
    }

    private func perform(_ step: Recording.Step, _ scenario: SyncScenario) throws -> [SyncAction] {
        switch step {
        case .line(let line):
            return try scenario.receive(line)
        case .event(let event):
            return try scenario.send(event)
        case .write:
            try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        case .upload(let checkpoint):
            try scenario.write { db in
                try UploadQueue.complete(db, through: UploadQueue.sequence(db) ?? 0, writeCheckpoint: nil)
                try LocalWriteGate.setTarget(db, WriteCheckpoint(checkpoint))
            }
        }
        return []
    }
}
