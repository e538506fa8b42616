import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// Sessions that cannot use everything they take, and take something only when they are woken: in the end, they have what
/// was published, whatever woke them (docs/service.md "Fan-out").
@Suite struct LostNewsModelTests {
    /// What was committed, at op ids that are also the positions.
    private struct Source {
        var opID: Int64 = 0
        /// The commits that have changed a bucket or a lookup.
        var changes: [String: [Int64]] = [:]
        /// The positions of the write checkpoints of each user, in order.
        var writeCheckpoints: [String: [Int64]] = [:]

        var checkpoint: StorageCheckpoint {
            StorageCheckpoint(streamID: ReplicationStreamID(rawValue: 1), opID: OpID(opID), lsn: .at(opID))
        }

        /// How often a bucket or a lookup was changed up to a checkpoint.
        func version(of name: String, at checkpoint: StorageCheckpoint) -> Int {
            changes[name, default: []].filter { $0 <= checkpoint.opID.rawValue }.count
        }

        /// What concerns a session at a checkpoint: each lookup leads to a bucket, and to another one when it has changed.
        func interest(of lookups: [Int], at checkpoint: StorageCheckpoint) -> Interest {
            let buckets = lookups.map { "b\(($0 + version(of: "l\($0)", at: checkpoint)) % 6)" }
            return .of(buckets, lookups.map { "l\($0)" })
        }

        /// How many write checkpoints of a user are visible at a checkpoint, and the position of the next one.
        func visibility(of userKey: String, at checkpoint: StorageCheckpoint) -> (count: Int, next: Int64?) {
            let positions = writeCheckpoints[userKey, default: []]
            let count = positions.prefix { $0 <= checkpoint.opID.rawValue }.count
            return (count, positions.dropFirst(count).first)
        }
    }

    /// What a session has read.
    private struct Contents: Equatable {
        var interest = Interest()
        /// The versions of its buckets.
        var versions: [BucketName: Int] = [:]
        var writeCheckpointCount = 0

        /// Reads what may have changed, and nothing else.
        mutating func read(_ news: CheckpointNews, of session: Session, from source: Source) {
            let (checkpoint, scope) = (news.checkpoint, news.scope)
            if scope.mayHaveOtherBuckets { interest = source.interest(of: session.lookups, at: checkpoint) }
            var versions: [BucketName: Int] = [:]
            for bucket in interest.buckets {
                let isChanged = scope.isUnknown || scope.buckets.contains(bucket)
                let known = isChanged ? nil : self.versions[bucket]
                versions[bucket] = known ?? source.version(of: bucket.rawValue, at: checkpoint)
            }
            self.versions = versions
            if scope.isUnknown || scope.hasWriteCheckpoint {
                writeCheckpointCount = source.visibility(of: session.userKey, at: checkpoint).count
            }
        }
    }

    private struct Session {
        let id: SessionID
        let userKey: String
        let lookups: [Int]
        /// Whether it does not wait to be woken.
        var isAwake = true
        /// What it has taken and not read.
        var news: CheckpointNews?
        var contents = Contents()
    }

    /// A board with its sessions.
    private struct Service {
        var random: SeededGenerator
        var board = DispatchBoard(streamID: ReplicationStreamID(rawValue: 1))
        var source = Source()
        var sessions: [Session] = []

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            for number in 0..<4 {
                let session = Session(
                    id: SessionID(rawValue: UInt64(number)),
                    userKey: "u\(number % 2)",
                    lookups: [number % 3, random.number(below: 4)]
                )
                board.add(session.id, userKey: session.userKey)
                sessions.append(session)
            }
        }

        private mutating func wake(_ woken: [SessionID]) {
            for id in woken { sessions[Int(id.rawValue)].isAwake = true }
        }

        mutating func commit() {
            source.opID += 1
            let buckets = Set((0..<random.number(below: 3)).map { _ in "b\(random.number(below: 6))" }).sorted()
            let lookups = random.number(below: 3) == 0 ? ["l\(random.number(below: 4))"] : []
            for name in buckets + lookups { source.changes[name, default: []].append(source.opID) }
            let changed = Interest.of(buckets, lookups)
            var commit = CommitChanges(changes: .known(buckets: changed.buckets, lookups: changed.lookups))
            if random.number(below: 20) == 0 { commit.changes = .unknown }
            wake(board.publish(source.checkpoint, commit))
        }

        /// Records a write checkpoint; not every one is heard of.
        mutating func recordWriteCheckpoint() {
            let userKey = "u\(random.number(below: 2))"
            let earliest = source.writeCheckpoints[userKey]?.last ?? 0
            let position = max(earliest, source.opID + Int64(random.number(below: 3)))
            source.writeCheckpoints[userKey, default: []].append(position)
            if random.number(below: 3) > 0 { wake(board.expectWriteCheckpoint(of: userKey, at: .at(position))) }
        }

        mutating func announceWriteCheckpoints() { wake(board.announceWriteCheckpoints()) }

        /// Lets a session that is awake take something, or read what it has taken.
        ///
        /// - Parameters:
        ///   - index: The session.
        ///   - canFail: Whether compaction may be faster than the read, or than the download that comes after it.
        mutating func turn(_ index: Int, canFail: Bool) {
            var session = sessions[index]
            guard session.isAwake else { return }
            defer { sessions[index] = session }
            guard let news = session.news else {
                session.news = board.take(session.id)
                session.isAwake = session.news != nil
                return
            }
            session.news = nil
            if canFail, random.number(below: 3) == 0 { return board.awaitAny(session.id, after: news.checkpoint) }
            session.contents.read(news, of: session, from: source)
            if news.scope.mayHaveOtherBuckets { board.settle(session.contents.interest, of: session.id) }
            if news.scope.isUnknown || news.scope.hasWriteCheckpoint,
                let next = source.visibility(of: session.userKey, at: news.checkpoint).next
            {
                wake(board.expectWriteCheckpoint(of: session.userKey, at: .at(next)))
            }
            if canFail, random.number(below: 8) == 0 { board.awaitAny(session.id, after: news.checkpoint) }
        }

        /// Lets all sessions read everything that they are told of.
        mutating func finishTurns() {
            while let index = sessions.firstIndex(where: \.isAwake) { turn(index, canFail: false) }
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func everySessionHasWhatWasPublishedInTheEnd(seed: UInt64) {
        var service = Service(seed: seed)
        for _ in 0..<200 {
            switch service.random.number(below: 12) {
            case 0...2: service.commit()
            case 3: service.recordWriteCheckpoint()
            case 4: service.announceWriteCheckpoints()
            default: service.turn(service.random.number(below: service.sessions.count), canFail: true)
            }
        }
        // Those who could not use what they took are woken by this first.
        service.announceWriteCheckpoints()
        service.finishTurns()
        // The last write checkpoints become visible.
        for _ in 0..<3 { service.commit() }
        service.finishTurns()
        let news = CheckpointNews(checkpoint: service.source.checkpoint, scope: .unknown)
        for session in service.sessions {
            var expected = Contents()
            expected.read(news, of: session, from: service.source)
            #expect(session.contents == expected, "seed \(seed), session \(session.id.rawValue)")
        }
    }
}
