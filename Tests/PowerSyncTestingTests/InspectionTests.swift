import PowerSync
import PowerSyncTesting
import Testing

/// A look inside an app that is connected to the fake service.
@Suite(.timeLimit(.minutes(1))) struct InspectionTests {
    @Test func queueBucketsAndStreamsFollowTheService() async throws {
        let service = try TodoApp.service(users: "alice")
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        let alice = try await TodoApp.database(of: "alice", service)
        let synced = try await alice.inspection()
        #expect(synced.isConnected && synced.lastSyncedAt != nil)
        #expect(synced.buckets.count == 2)
        #expect(synced.buckets.allSatisfy { $0.isComplete && $0.downloadedOperations == 1 && $0.downloadedBytes > 0 })
        #expect(Set(synced.buckets.map(\.priority)) == [BucketPriority(1), BucketPriority(3)])
        #expect(Set(synced.streams.map(\.subscription.name)) == ["lists", "todos"])
        #expect(synced.queue.writes == 0)

        service.uploads.answer(.hold)
        try await alice.execute("UPDATE todos SET title = 'Bread' WHERE id = 't1'")
        _ = try await service.uploads.next()
        let uploading = try await alice.inspection()
        #expect(uploading.queue.writes == 1 && uploading.queue.transactions == 1 && uploading.queue.bytes > 0)
        if case .upload(entries: 1)? = uploading.activity.upload?.reason {
        } else {
            Issue.record("\(uploading)")
        }
        service.uploads.answer(.apply)
        try await service.waitUntilSynced(alice)
        let done = try await alice.inspection()
        #expect(done.queue.writes == 0 && done.uploadError == nil)
        #expect(done.buckets.map(\.downloadedOperations).sorted() == [1, 2])
    }

    @Test func errorsOfBothDirectionsAreThere() async throws {
        let service = try TodoApp.service(users: "alice")
        let alice = try await TodoApp.database(of: "alice", service)
        struct Refusal: Error {}
        service.uploads.answer(.fail(Refusal()))
        try await alice.execute("INSERT INTO lists (id) VALUES ('l1')")
        try await alice.waitForStatus { $0.uploadError != nil }
        #expect(try await alice.inspection().uploadError != nil)
        let outage = service.begin(.offline)
        try await outage.waitUntilNoticed()
        let offline = try await alice.inspection()
        #expect(!offline.isConnected)
        #expect(offline.downloadError.map { "\($0)".contains("offline") } == true)
        #expect(offline.queue.writes == 1)
        if case .serviceUnreachable? = offline.activity.download?.reason {
        } else {
            Issue.record("\(offline)")
        }
        outage.end()
        service.uploads.answer(.apply)
        try await service.waitUntilSynced(alice)
    }
}
