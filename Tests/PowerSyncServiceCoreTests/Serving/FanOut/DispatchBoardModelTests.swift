import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// The board against the obvious model, in which every session looks at every commit.
@Suite struct DispatchBoardModelTests {
    /// What the model knows of a session.
    private struct Session {
        var interest = Interest()
        /// The interest at the time of the next settling; `nil` when the session knows its buckets.
        var resolvesTo: Interest?
        /// The commits since the session last took something.
        var untaken: [CommitChanges] = []

        /// What a session with an interest would make of commits.
        static func concerned(_ interest: Interest, by commits: [CommitChanges]) -> (Set<BucketName>, Bool)? {
            var scope = CheckpointNews.Scope()
            var isConcerned = false
            for commit in commits where scope.add(commit, for: interest) { isConcerned = true }
            return isConcerned ? (scope.buckets, scope.hasOtherLookups) : nil
        }
    }

    private static func interest(_ random: inout SeededGenerator) -> Interest {
        func names(_ letter: String) -> [String] {
            (0..<random.number(below: 4)).map { _ in "\(letter)\(random.number(below: 12))" }
        }
        return .of(names("b"), names("l"))
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func everySessionIsToldWhatConcernsItAndNothingElse(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var board = DispatchBoard(streamID: ReplicationStreamID(rawValue: 1))
        var sessions: [SessionID: Session] = [:]
        var opID: Int64 = 0
        let memory = LineMemory().fresh
        func checkpoint() -> StorageCheckpoint {
            StorageCheckpoint(streamID: board.streamID, opID: OpID(opID), lsn: .at(opID))
        }
        _ = board.publish(checkpoint(), CommitChanges(changes: .unknown))

        for step in 0..<300 {
            switch random.number(below: 10) {
            case 0 where sessions.count < 8:
                let id = SessionID(rawValue: UInt64(step) + 1)
                board.add(id, userKey: "u\(step)")
                let news = board.take(id)
                #expect(news?.scope == .unknown, "seed \(seed)")
                sessions[id] = Session(resolvesTo: Self.interest(&random))
            case 1:
                guard let id = sessions.keys.min(by: { $0.rawValue < $1.rawValue }), step % 3 == 0 else { continue }
                sessions[id] = nil
                board.remove(id)
            case 2...4:
                opID += 1
                let changed = Self.interest(&random)
                var commit = CommitChanges(changes: .known(buckets: changed.buckets, lookups: changed.lookups))
                // Not everything is read for those who want it.
                let chunks = changed.buckets.filter { _ in random.number(below: 4) > 0 }.sorted()
                    .map { FreshOperationsTests.chunk($0.rawValue, [opID]) }
                if random.number(below: 30) == 0 { commit.changes = .unknown }
                commit.operations = FreshOperations.collect(chunks, after: OpID(opID - 1), memory: memory)
                let woken = Set(board.publish(checkpoint(), commit))
                for (id, session) in sessions {
                    sessions[id]?.untaken.append(commit)
                    let isConcerned =
                        session.resolvesTo == nil && Session.concerned(session.interest, by: [commit]) != nil
                    #expect(woken.contains(id) == isConcerned, "seed \(seed), step \(step)")
                }
            default:
                guard let id = sessions.keys.sorted(by: { $0.rawValue < $1.rawValue }).randomElement(using: &random),
                    var session = sessions[id]
                else { continue }
                if let found = session.resolvesTo {
                    board.settle(found, of: id)
                    (session.interest, session.resolvesTo) = (found, nil)
                } else {
                    let news = board.take(id)
                    let expected = Session.concerned(session.interest, by: session.untaken)
                    if let news, !news.scope.isUnknown {
                        #expect(news.checkpoint == checkpoint(), "seed \(seed), step \(step)")
                        #expect(news.scope.buckets == expected?.0, "seed \(seed), step \(step)")
                        #expect(news.scope.hasOtherLookups == expected?.1, "seed \(seed), step \(step)")
                        let isWhole = Self.hasAllOrNothing(news.scope, of: session.untaken)
                        #expect(isWhole, "seed \(seed), step \(step)")
                    } else if news == nil {
                        #expect(expected == nil, "seed \(seed), step \(step)")
                    } else {
                        // Reporting too much is right when a session took very long to find its buckets.
                        let isKnown = session.untaken.allSatisfy { $0.changes != .unknown }
                        let isRecent = session.untaken.count <= DispatchBoard.maximumMissed
                        #expect(!isKnown || !isRecent, "seed \(seed), step \(step)")
                        #expect(news?.scope.operations == [:], "seed \(seed), step \(step)")
                    }
                    if let news {
                        session.untaken = []
                        if news.scope.mayHaveOtherBuckets { session.resolvesTo = Self.interest(&random) }
                    }
                }
                sessions[id] = session
            }
        }
        for id in sessions.keys { board.remove(id) }
        #expect(board.isEmpty, "seed \(seed)")
        sessions = [:]
        #expect(memory.byteCount == 0, "seed \(seed)")
    }

    /// Whether there are, for each bucket, the operations of all commits that changed it, or none.
    private static func hasAllOrNothing(_ scope: CheckpointNews.Scope, of commits: [CommitChanges]) -> Bool {
        scope.buckets.allSatisfy { bucket in
            let added = commits.compactMap { commit -> FreshOperations?? in
                guard case .known(let buckets, _) = commit.changes, buckets.contains(bucket) else { return nil }
                return .some(commit.operations[bucket])
            }
            let isReadable = added.count <= FreshOperations.maximumCommits && added.allSatisfy { $0 != nil }
            return scope.operations[bucket] == (isReadable ? added.compactMap(\.self) : nil)
        }
    }
}
