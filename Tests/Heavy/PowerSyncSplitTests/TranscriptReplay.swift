import GRDB
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

/// Plays a recorded transcript in other transactions, and with other processes, and compares.
struct TranscriptReplay {
    /// What may happen between the steps.
    struct Way {
        /// From how many operations on a first sync is a bulk load.
        var bulkLoadThreshold = Int64.max
        /// A transaction ends after an event once in so many times.
        var meanBatch = 4
        /// Whether processes end.
        var reopens = false
    }

    private let steps: [TranscriptStep]
    private let way: Way
    private let client: TranscriptClient
    private let countsOperations: Bool
    private var random: SeededGenerator
    private var hasReopened = false
    /// What happened, for people.
    private(set) var log: [String] = []

    init(_ transcript: RandomTranscript, _ way: Way, seed: UInt64, on client: TranscriptClient) {
        steps = transcript.steps
        countsOperations = transcript.service.countsOperations
        self.way = way
        self.client = client
        random = SeededGenerator(seed: seed)
    }

    /// Plays the transcript.
    ///
    /// - Returns: What is different; empty if nothing is.
    mutating func run() -> [String] {
        do {
            var index = 0
            while index < steps.count {
                index = try play(from: index)
                let differences = try compare(after: index - 1)
                if !differences.isEmpty { return differences }
                try reopen(after: index - 1)
            }
            return []
        } catch {
            return ["\(error)"]
        }
    }

    /// Plays a transaction.
    ///
    /// - Returns: The index of the next step.
    private mutating func play(from index: Int) throws -> Int {
        let step = steps[index]
        switch step.kind {
        case .local(let change):
            log.append("\(step)")
            try client.run(change, now: step.now)
            return index + 1
        case .schema(let schema):
            log.append("\(step)")
            try client.apply(schema)
            return index + 1
        case .event:
            let end = endOfBatch(from: index)
            let events = steps[index..<end].compactMap(\.event)
            if random.number(below: 12) == 0 {
                log.append("── another process numbers the operations anew")
                try client.renumberOperations()
            }
            if random.number(below: 12) == 0 {
                log.append("── rolled back: \(events.count) events")
                try client.handleInVain(events.prefix(1 + random.number(below: events.count)), now: step.now)
            }
            while true {
                var random = random
                let limit = way.meanBatch
                let result = try client.handle(events, now: step.now) { random.number(below: limit) == 0 }
                self.random = random
                if let next = try next(after: result, from: index) { return next }
                log.append("── for an index")
            }
        }
    }

    /// Where the events end that may share a transaction with one.
    private func endOfBatch(from index: Int) -> Int {
        var end = index
        while end < steps.count, steps[end].event != nil, steps[end].now == steps[index].now {
            end += 1
            if steps[end - 1].endsIteration || steps[end - 1].state != nil { break }
        }
        return end
    }

    /// What comes after a transaction; the event that ends an iteration may not have been looked at.
    ///
    /// - Returns: The index of the next step; `nil` when the transaction was needed for something else.
    private mutating func next(after result: SyncStep, from index: Int) throws -> Int? {
        guard result.handledEvents > 0 || result.isClosed else { return nil }
        let next = index + max(result.handledEvents, 1)
        log += steps[index..<next].map(\.description) + ["──"]
        if result.isClosed != steps[next - 1].endsIteration {
            throw RandomTranscript.Fault(
                description: "the iteration \(result.isClosed ? "ends" : "does not end") at: \(steps[next - 1])"
            )
        }
        return next
    }

    private func compare(after index: Int) throws -> [String] {
        guard let expected = steps[index].state else { return [] }
        let comparison: ClientState.Comparison =
            if !hasReopened {
                .everything
            } else if index == steps.count - 1 {
                .acrossProcessesWhenSynced
            } else {
                .acrossProcesses
            }
        return try client.state().differences(from: expected, comparison, countsOperations: countsOperations)
    }

    private mutating func reopen(after index: Int) throws {
        guard way.reopens, index < steps.count - 1, let resumption = steps[index].resumption else { return }
        guard random.number(below: 2) == 0 else { return }
        log.append("══ another process")
        hasReopened = true
        try client.reopen()
        for event in resumption {
            _ = try client.handle(event, now: steps[index].now)
        }
    }
}

extension TranscriptStep {
    fileprivate var event: SyncEvent? {
        if case .event(let event) = kind { event } else { nil }
    }
}
