import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

/// A random transcript, recorded while a client plays it one event a transaction.
///
/// What the service says depends on what the client asks for, as in reality: after an iteration has ended, it goes on where the
/// client says that it is. The rows are compared with those of a plain model after every completion.
struct RandomTranscript {
    /// What is wrong with a client.
    struct Fault: Error {
        let description: String
    }

    /// What happens in a transcript beside lines of the service.
    ///
    /// Few of it in each one: what happens all the time keeps other things from happening.
    enum Theme: CaseIterable {
        case localWrites
        case rejectedWrites
        case clearing
        case subscriptions
        case schemaChanges
        case dataOfUntrackedBuckets
        case bucketsThatComeAndGo
        case mistakesOfTheService
        case interruptions
    }

    private(set) var steps: [TranscriptStep] = []
    let themes: Set<Theme>
    var random: SeededGenerator
    let client: TranscriptClient
    var service: ModelService
    /// What the client is told to track.
    var tracked: Checkpoint?
    private let findsResumptions: Bool
    private(set) var model = ApplyModel()
    private var now = SyncInstant(microseconds: 1_700_000_000_000_000)

    // What a new process would have to find.
    private(set) var startedWith: (subscriptions: [String], buckets: Set<String>) = ([], [])
    private var isHeldBack = false
    private var hasDataSinceHeldBack = false
    var wasCleared = false

    private init(seed: UInt64, findsResumptions: Bool, _ client: TranscriptClient) {
        self.findsResumptions = findsResumptions
        random = SeededGenerator(seed: seed)
        self.client = client
        service = ModelService(using: &random)
        var themes: Set<Theme> = []
        for theme in Theme.allCases where random.number(below: 4) == 0 { themes.insert(theme) }
        self.themes = themes
    }

    /// Records a transcript.
    ///
    /// - Parameters:
    ///   - seed: What the transcript depends on.
    ///   - length: About how many steps it has before it comes to its end.
    ///   - findsResumptions: Whether processes will end when it is played.
    ///   - client: A client whose database is empty.
    /// - Returns: The transcript; the fault of the client, if it has one. The last step of a transcript without fault
    ///   publishes a checkpoint.
    static func record(
        seed: UInt64,
        length: Int,
        findsResumptions: Bool,
        on client: TranscriptClient
    ) -> (RandomTranscript, Fault?) {
        var transcript = RandomTranscript(seed: seed, findsResumptions: findsResumptions, client)
        do {
            try transcript.begin()
            while transcript.steps.count < length { try transcript.continue() }
            try transcript.settle()
            try transcript.checkOperations()
            transcript.steps[transcript.steps.count - 1].state = try client.state()
            return (transcript, nil)
        } catch let fault as Fault {
            return (transcript, fault)
        } catch {
            return (transcript, Fault(description: "\(error)"))
        }
    }

    /// Whether something happens that happens once in so many cases.
    mutating func oneIn(_ count: Int) -> Bool {
        random.number(below: count) == 0
    }

    /// A transaction of the app.
    mutating func local(_ change: LocalChange) throws {
        now = now.adding(seconds: oneIn(12) ? 100 : 1)
        try client.run(change, now: now)
        if change.publishesAgain { model.forgetEverything() }
        try record(.local(change))
    }

    mutating func apply(_ schema: TranscriptSchema) throws {
        try client.apply(schema)
        try record(.schema(schema))
    }

    /// An event.
    mutating func event(_ event: SyncEvent) throws {
        if oneIn(40) { now = now.adding(seconds: 1) }
        let completion = completion(of: event)
        let before = completion == nil ? nil : try ApplyModel.look(at: client)
        let actions = try client.handle(event, now: now)
        let endsIteration = !client.engine.isActive
        if let completion, let before { try check(completion, event, before, actions) }
        do {
            try checkBuckets(after: event)
            try note(event, actions)
            if !wasCleared { try checkLifetimes(after: event, now: now) }
        } catch let fault as Fault {
            steps.append(TranscriptStep(kind: .event(event), now: now, endsIteration: endsIteration))
            throw fault
        }
        if endsIteration {
            tracked = nil
            isHeldBack = false
            wasCleared = false
        }
        try record(.event(event), endsIteration: endsIteration)
    }

    mutating func line(_ line: SyncLine) throws {
        try event(.line(ReceivedLine(line: line, byteCount: 1 + random.number(below: 9))))
    }

    private mutating func record(_ kind: TranscriptStep.Kind, endsIteration: Bool = false) throws {
        var step = TranscriptStep(kind: kind, now: now, endsIteration: endsIteration)
        if findsResumptions, oneIn(2) { step.resumption = try resumption() }
        if oneIn(30) { step.state = try client.state() }
        steps.append(step)
    }

    // MARK: - What has to come of a completion

    private func completion(of event: SyncEvent) -> Completion? {
        guard !wasCleared, tracked != nil else { return nil }
        switch event {
        case .line(let received):
            switch received.line {
            case .checkpointComplete: return .complete
            case .partialCheckpointComplete(let line): return .partial(line.priority)
            default: return nil
            }
        case .uploadCompleted: return isHeldBack ? .complete : nil
        default: return nil
        }
    }

    private mutating func check(
        _ completion: Completion,
        _ event: SyncEvent,
        _ before: ApplyModel.Snapshot,
        _ actions: [SyncAction]
    ) throws {
        let isValid = client.engine.isActive
        let writeCheckpoint = tracked?.writeCheckpoint?.rawValue
        let didComplete = actions.contains { if case .didCompleteSync = $0 { true } else { false } }
        var isPublished = isValid && ApplyModel.isGateOpen(before, completion, writeCheckpoint: writeCheckpoint)
        if case .uploadCompleted = event {
            // Without a number it cannot be the awaited one; and what came later may not fit to it any more.
            if writeCheckpoint == nil, before.isWaiting { isPublished = false }
            if hasDataSinceHeldBack { isPublished = didComplete }
        }
        var expected = before.published
        let after = try ApplyModel.look(at: client).published
        if let tracked, let part = publishedPart(of: completion, event, before, isValid: isValid, isPublished) {
            let covered = tracked.buckets.filter { part.priority.includes($0.priority) }.map(\.name.rawValue)
            expected = model.publish(part, covered: covered, upTo: tracked.lastOpID.rawValue, before, after)
        }
        if completion == .complete {
            isHeldBack = isValid && !isPublished && !event.isUploadCompleted
            hasDataSinceHeldBack = false
        }
        guard after == expected, didComplete == (isPublished && completion == .complete) else {
            try record(.event(event), endsIteration: !isValid)
            throw Fault(
                description: """
                    \(completion) \(isPublished ? "publishes" : "does not publish"); rows:
                    \(after.lines)
                    instead of
                    \(expected.lines)
                    did complete: \(didComplete)
                    """
            )
        }
    }

    /// What is published of a checkpoint: what it has of priority 0 is a partial one while it is held back.
    private func publishedPart(
        of completion: Completion,
        _ event: SyncEvent,
        _ before: ApplyModel.Snapshot,
        isValid: Bool,
        _ isPublished: Bool
    ) -> Completion? {
        if isPublished { return completion }
        guard isValid, completion == .complete, let tracked,
            !event.isUploadCompleted || before.isAnswered(by: tracked.writeCheckpoint?.rawValue)
        else { return nil }
        let urgent = tracked.buckets.filter { $0.priority == .highest }
        let isAll = !urgent.isEmpty && urgent.count == tracked.buckets.count
        let isNew = urgent.contains { model.isUnpublished($0.name.rawValue, upTo: tracked.lastOpID.rawValue, before) }
        return isAll || isNew ? .partial(.highest) : nil
    }

    private mutating func note(_ event: SyncEvent, _ actions: [SyncAction]) throws {
        switch event {
        case .start:
            tracked = nil
            isHeldBack = false
            wasCleared = false
            guard let request = actions.compactMap(\.establishedRequest).first else {
                throw Fault(description: "no request")
            }
            service.open(request)
            startedWith = (try subscriptions(), Set(request.buckets.map(\.name.rawValue)))
        case .line(let received):
            switch received.line {
            case .checkpoint(let checkpoint):
                tracked = checkpoint
                isHeldBack = false
                model.bucketsRemain(try bucketNames())
            case .checkpointDiff(let diff):
                tracked?.apply(diff)
                isHeldBack = false
                model.bucketsRemain(try bucketNames())
            case .checkpointComplete, .partialCheckpointComplete:
                if !client.engine.isActive { model.bucketsRemain(try bucketNames()) }
            case .data(let line):
                hasDataSinceHeldBack = true
                if line.operations.contains(where: { $0.kind == .clear }) { model.wasCleared(line.bucket.rawValue) }
            default: break
            }
        case .uploadCompleted:
            model.bucketsRemain(try bucketNames())
        default: break
        }
    }

    // MARK: - What a new process finds

    func bucketNames() throws -> Set<String> {
        try client.look { try String.fetchSet($0.cachedStatement(sql: "SELECT name FROM ps_buckets")) }
    }

    /// The explicit subscriptions in the order of a request.
    private func subscriptions() throws -> [String] {
        let live = client.live
        let rows = try client.look { db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id || stream_name || local_params || ifnull(local_priority, '-'), stream_name, local_params
                        FROM ps_stream_subscriptions WHERE ttl IS NOT NULL
                        ORDER BY expires_at - ttl * 1000000 DESC, id
                        """
                )
            ).map { (text: $0[0] as String, key: StreamKey(name: $0[1], parametersText: $0[2])) }
        }
        let held = rows.filter { live.contains($0.key) }.map(\.text).sorted()
        return held + rows.filter { !live.contains($0.key) }.map(\.text)
    }

    /// What a new process would hear, if it asked for the same as the old one did.
    private func resumption() throws -> [SyncEvent]? {
        guard client.engine.isActive else { return [] }
        let outdated = try client.look { db in
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT EXISTS (
                            SELECT 1 FROM ps_stream_subscriptions WHERE expires_at < ? OR (ttl IS NULL AND NOT active)
                        )
                        """
                ),
                arguments: [now.rawValue]
            )
        }
        // Buckets that no checkpoint names are kept until the next request only.
        let known = tracked.map { Set($0.buckets.map(\.name.rawValue)) } ?? startedWith.buckets
        guard !wasCleared, outdated == false, try subscriptions() == startedWith.subscriptions,
            try bucketNames().isSubset(of: known), !(isHeldBack && hasDataSinceHeldBack)
        else { return nil }
        var events: [SyncEvent] = [.start(SyncStart()), .streamOpened]
        if let tracked { events.append(.line(.checkpoint(tracked))) }
        if isHeldBack { events.append(.line(.done)) }
        return events
    }
}

extension SyncEvent {
    fileprivate var isUploadCompleted: Bool {
        if case .uploadCompleted = self { true } else { false }
    }
}

extension [ApplyModel.RowKey: String] {
    fileprivate var lines: String {
        map { "\($0.type)/\($0.id) \($1)" }.sorted().joined(separator: "\n")
    }
}

extension Checkpoint {
    /// Applies a diff, as in `TrackedCheckpoint`.
    fileprivate mutating func apply(_ diff: CheckpointDiff) {
        lastOpID = diff.lastOpID
        writeCheckpoint = diff.writeCheckpoint
        buckets.removeAll { diff.removedBuckets.contains($0.name) }
        for bucket in diff.updatedBuckets {
            if let index = buckets.firstIndex(where: { $0.name == bucket.name }) {
                buckets[index] = bucket
            } else {
                buckets.append(bucket)
            }
        }
    }
}
