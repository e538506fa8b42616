import Testing

@testable import PowerSyncServiceMySQL

/// As which replicas streams read the log.
@Suite struct ReplicaIdentityTests {
    @Test func aStreamIsTheSameReplicaAfterARestart() {
        #expect(ReplicaIdentity("powersync_a", firstNumber: 0) == ReplicaIdentity("powersync_a", firstNumber: 0))
        #expect(
            ReplicaIdentity("powersync_a", firstNumber: 0).uuid != ReplicaIdentity("powersync_b", firstNumber: 0).uuid
        )
        #expect(ReplicaIdentity("powersync_a", firstNumber: 0).number >= 0x4000_0000)
        #expect(ReplicaIdentity("powersync_a", firstNumber: 0).uuid.split(separator: "-")[2].hasPrefix("5"))
    }

    @Test func streamsOfOneServiceHaveDifferentNumbers() {
        var taken: Set<UInt32> = []
        for stream in 0..<8 {
            let replica = ReplicaIdentity("powersync_\(stream)", firstNumber: 700, besides: taken)
            #expect((700..<708).contains(replica.number))
            #expect(taken.insert(replica.number).inserted)
        }
        // More than there are numbers for: one is used twice.
        #expect(taken.contains(ReplicaIdentity("powersync_8", firstNumber: 700, besides: taken).number))
    }
}
