import Foundation
import Logging
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncServiceSQLite
import PowerSyncSyncConfig
import TestSupport

/// The service: one process at a time that replicates and compacts, over the same files; and nodes beside it that come and go, which only
/// serve clients, from its storage.
///
/// `@unchecked`: the simulation has one thread.
final class SimulatedService: @unchecked Sendable {
    /// A process of the service, ready to serve.
    struct Node {
        let process: SimulatedProcess
        let sessions: SyncSession.Environment
        let verifier: TokenVerifier
        let writeCheckpoints: WriteCheckpointIssuer
        let logger: Logger
        /// What the process has that replicates; the same for the nodes beside it.
        let core: Core
    }

    /// What nodes have in common.
    struct Core {
        let process: SimulatedProcess
        let dispatcher: CheckpointDispatcher
        let deployer: SyncConfigDeployer
        let storage: SQLiteBucketStorage
        let source: EmbeddedSource
    }

    private let runtime: SimulatedRuntime
    private let timeline: Timeline
    private let sourcePath: String
    private let files: ProcessFiles
    private let key: JSONWebKey
    /// The node that replicates; `nil` while there is none.
    private(set) var node: Node?
    /// Nodes that only serve, and their tasks.
    private var others: [(node: Node, task: Task<Void, Never>)] = []
    private var lastOther = 0
    /// Spreads requests over the nodes.
    private var balance: SeededGenerator
    /// The process that runs; `nil` while there is none.
    private var process: SimulatedProcess?
    private var starts = 0
    /// Decides what the disk loses, when the machine has lost its power.
    private var powerLoss: UInt64?

    init(
        _ runtime: SimulatedRuntime,
        timeline: Timeline,
        sourcePath: String,
        folder: String,
        secret: [UInt8],
        seed: UInt64
    ) {
        balance = SeededGenerator(seed: seed)
        (self.runtime, self.timeline, self.sourcePath) = (runtime, timeline, sourcePath)
        files = ProcessFiles(folder: folder, name: "buckets.db", keepsUnsynced: true)
        key = JSONWebKey(id: "simulation", algorithm: .hs256, material: .symmetric(secret))
    }

    /// Starts a process, unless one runs.
    ///
    /// - Parameter config: The sync config to deploy.
    /// - Throws: When the files of the one before cannot be copied.
    func start(_ config: String) throws {
        guard process == nil else { return }
        starts += 1
        let unsynced = try files.begin(starts, from: starts - 1, losing: powerLoss)
        if powerLoss != nil { timeline.add("serve", "may have lost any of \(unsynced) writes to its disk") }
        powerLoss = nil
        let place = files.path(starts)
        let name = "serve.\(starts)"
        let process = runtime.makeProcess(name)
        self.process = process
        timeline.add(name, "starts")
        _ = runtime.whenDead(process) { [self] in
            (self.process, node) = (nil, nil)
            // Their storage was in it.
            for other in others { runtime.kill(other.node.process) }
            others = []
            timeline.add(name, "has died")
        }
        runtime.run(as: process) {
            _ = Task {
                do {
                    try await self.run(config, process, in: place)
                } catch {
                    // As a supervisor does.
                    self.timeline.add(name, "has ended: \(error)")
                    self.runtime.kill(process)
                }
            }
        }
    }

    /// Ends the process when it has changed files a number of times.
    func kill(afterFileChanges count: Int) {
        if let process { runtime.kill(process, afterFileChanges: count) }
    }

    /// Ends the process at once, with its machine: of what was written to files, and not synced, anything may be lost.
    func losePower(_ random: SeededGenerator) {
        guard let process else { return }
        var random = random
        powerLoss = random.next()
        timeline.add(process.name, "loses its power")
        runtime.kill(process)
    }

    /// Fills the disk of the process, or makes room again.
    func setDisk(isFull: Bool) {
        if let process { runtime.setDisk(of: process, isFull: isFull) }
    }

    /// Sets how far the clock of the process is ahead.
    func setClock(ahead skew: Duration) {
        if let process { runtime.setClock(of: process, ahead: skew) }
    }

    /// Ends all that is wrong with the process.
    func heal() {
        setClock(ahead: .zero)
        setDisk(isFull: false)
        if let process { runtime.spare(process) }
    }

    /// Compacts the storage.
    func compact() {
        guard let node else { return }
        runtime.run(as: node.process) {
            _ = Task { [timeline] in
                do {
                    let result = try await CompactionJob.compact(node.core.storage)
                    timeline.add("compact", "\(result)")
                } catch {
                    timeline.add("compact", "fails: \(error)")
                }
            }
        }
    }

    private func run(_ config: String, _ process: SimulatedProcess, in place: String) async throws {
        let logger = Logger(label: process.name) { [timeline] _ in ServiceLog(name: process.name, timeline: timeline) }
        let storage = try SQLiteBucketStorage(path: place)
        // Looking for commits several times a second would be most of what happens here.
        let source = try EmbeddedSource(path: sourcePath, clock: SlowClock(factor: 10), logger: logger)
        let deployer = SyncConfigDeployer(storage: storage, logger: logger)
        try await deployer.deploy(config)
        let dispatcher = CheckpointDispatcher(storage: storage)
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            logger: logger
        )
        let compaction = CompactionJob(storage: storage, logger: logger)
        let follower = StorageFollower(storage: storage) { look in
            switch look {
            case .writeCheckpoint(let userKey, let position):
                dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
            case .writeCheckpointsMissed: dispatcher.writeCheckpointsMissed()
            case .streamsChanged: deployer.streamsChanged.advance()
            case .looked, .failed: break
            }
        }
        let core = Core(
            process: process,
            dispatcher: dispatcher,
            deployer: deployer,
            storage: storage,
            source: source
        )
        node = makeNode(process, core, storage, dispatcher, logger)
        timeline.add(process.name, "serves")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await replicator.run() }
            group.addTask { try await dispatcher.run() }
            group.addTask { try await follower.run() }
            group.addTask { try await compaction.run() }
            try await group.waitForAll()
        }
    }

    private func makeNode(
        _ process: SimulatedProcess,
        _ core: Core,
        _ storage: any BucketStorage,
        _ dispatcher: CheckpointDispatcher,
        _ logger: Logger
    ) -> Node {
        let timing = Timing()
        return Node(
            process: process,
            sessions: SyncSession.Environment(
                storage: storage,
                dispatcher: dispatcher,
                dataReaders: ConcurrencyQueue(maximumRunning: 10, maximumWaiting: .max, timeout: .seconds(30)),
                userStreams: UserStreams(limit: 100, now: { timing.seconds }),
                limits: BucketLimits(),
                timing: timing
            ),
            verifier: TokenVerifier(keys: [key], audience: ["simulation"]),
            writeCheckpoints: WriteCheckpointIssuer(storage: storage, source: core.source, dispatcher: dispatcher),
            logger: logger,
            core: core
        )
    }

    // MARK: Nodes

    /// How many nodes there are at most beside the one that replicates.
    private static let mostOthers = 3

    /// A node that serves, for a request; `nil` while there is none.
    func chooseNode() -> Node? {
        let nodes = [node].compactMap(\.self) + others.map(\.node)
        return nodes.isEmpty ? nil : nodes[balance.number(below: nodes.count)]
    }

    /// Whether a node still takes requests.
    func serves(_ node: Node) -> Bool {
        self.node?.process === node.process || others.contains { $0.node.process === node.process }
    }

    /// Another node begins to serve, which learns late of what is published.
    func addNode() {
        guard let core = node?.core, others.count < Self.mostOthers else { return }
        lastOther += 1
        let name = "node.\(lastOther)"
        let process = runtime.makeProcess(name)
        let logger = Logger(label: name) { [timeline] _ in ServiceLog(name: name, timeline: timeline) }
        runtime.run(as: process) {
            let storage = LaggingStorage(core.storage) { [self] in
                .milliseconds(balance.number(below: 5000))
            } didRecord: { [runtime] userKey, position in
                runtime.after(.milliseconds(20), for: core.process) {
                    core.dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
                }
            }
            let dispatcher = CheckpointDispatcher(storage: storage)
            let follower = StorageFollower(storage: storage) { look in
                if case .writeCheckpointsMissed = look { dispatcher.writeCheckpointsMissed() }
            }
            let task = Task {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { try? await dispatcher.run() }
                    group.addTask { try? await follower.run() }
                }
            }
            others.append((makeNode(process, core, storage, dispatcher, logger), task))
        }
        timeline.add(name, "serves")
    }

    /// The node that has been there for longest ends as it does when it is asked to: its streams end.
    func removeNode() {
        guard !others.isEmpty else { return }
        let (node, task) = others.removeFirst()
        task.cancel()
        timeline.add(node.process.name, "ends")
    }
}

/// A clock on which everything takes longer.
struct SlowClock: Clock {
    /// How many times as long.
    let factor: Int

    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let now = ContinuousClock.now
        try await ContinuousClock().sleep(until: now + now.duration(to: deadline) * factor)
    }
}
