import Foundation
import Logging
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncServiceSQLite
import PowerSyncSyncConfig

/// The service: one process at a time, over the same files.
///
/// `@unchecked`: the simulation has one thread.
final class SimulatedService: @unchecked Sendable {
    /// A process of the service, ready to serve.
    struct Node {
        let process: SimulatedProcess
        let sessions: SyncSession.Environment
        let verifier: TokenVerifier
        let writeCheckpoints: WriteCheckpointIssuer
        let deployer: SyncConfigDeployer
        let storage: SQLiteBucketStorage
        let source: EmbeddedSource
        let logger: Logger
    }

    private let runtime: SimulatedRuntime
    private let timeline: Timeline
    private let sourcePath: String
    private let folder: String
    private let key: JSONWebKey
    /// The node that serves; `nil` while there is none.
    private(set) var node: Node?
    /// The process that runs; `nil` while there is none.
    private var process: SimulatedProcess?
    private var starts = 0

    init(_ runtime: SimulatedRuntime, timeline: Timeline, sourcePath: String, folder: String, secret: [UInt8]) {
        (self.runtime, self.timeline, self.sourcePath, self.folder) = (runtime, timeline, sourcePath, folder)
        key = JSONWebKey(id: "simulation", algorithm: .hs256, material: .symmetric(secret))
    }

    /// Starts a process, unless one runs.
    ///
    /// - Parameter config: The sync config to deploy.
    /// - Throws: When the files of the one before cannot be copied.
    func start(_ config: String) throws {
        guard process == nil else { return }
        let earlier = "\(folder)/\(starts)/buckets.db"
        starts += 1
        let place = "\(folder)/\(starts)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        // Other files for SQLite, which takes locks of this real process for its own.
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: earlier + suffix) {
            try FileManager.default.copyItem(atPath: earlier + suffix, toPath: "\(place)/buckets.db\(suffix)")
        }
        let name = "serve.\(starts)"
        let process = runtime.makeProcess(name)
        self.process = process
        timeline.add(name, "starts")
        _ = runtime.whenDead(process) { [self] in
            (self.process, node) = (nil, nil)
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

    private func run(_ config: String, _ process: SimulatedProcess, in place: String) async throws {
        let logger = Logger(label: process.name) { [timeline] _ in ServiceLog(name: process.name, timeline: timeline) }
        let storage = try SQLiteBucketStorage(path: place + "/buckets.db")
        // Looking for commits several times a second would be most of what happens here.
        let source = try EmbeddedSource(path: sourcePath, clock: SlowClock(factor: 10), logger: logger)
        let timing = Timing()
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
        node = Node(
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
            writeCheckpoints: WriteCheckpointIssuer(storage: storage, source: source, dispatcher: dispatcher),
            deployer: deployer,
            storage: storage,
            source: source,
            logger: logger
        )
        timeline.add(process.name, "serves")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await replicator.run() }
            group.addTask { try await dispatcher.run() }
            group.addTask { try await follower.run() }
            group.addTask { try await compaction.run() }
            try await group.waitForAll()
        }
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
