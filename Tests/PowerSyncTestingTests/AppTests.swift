import PowerSync
import PowerSyncTesting
import Testing

/// The tests that an app with offline mode needs, as its developer would write them.
@Suite(.timeLimit(.minutes(1))) struct AppTests {
    @Test func writesMadeOfflineReachOtherDevices() async throws {
        let service = try TodoApp.service(users: "alice")
        let phone = try await TodoApp.database(of: "alice", service)
        let outage = service.begin(.offline)
        try await outage.waitUntilNoticed()
        #expect(!phone.currentStatus.connected)
        #expect(phone.currentStatus.downloadError != nil)

        try await phone.add("Milk", id: "t1", to: "list of alice")
        #expect(try await phone.titles == ["Milk"])
        #expect(service.uploads.received.isEmpty)

        outage.end()
        try await service.waitUntilSynced(phone)
        #expect(phone.currentStatus.connected)
        #expect(phone.currentStatus.downloadError == nil)
        #expect(service.row("todos", "t1") == ["id": "t1", "done": 0, "list_id": "list of alice", "title": "Milk"])
        let tablet = try await TodoApp.database(of: "alice", service)
        #expect(try await tablet.titles == ["Milk"])
    }

    @Test func theServerDecidesAConflict() async throws {
        let service = try TodoApp.service(users: "alice", "bob")
        try service.put("lists", ["id": "shared", "owner_id": "alice", "name": "Shared"])
        try service.put("todos", ["id": "t1", "list_id": "shared", "title": "Milk"])
        let phone = try await TodoApp.database(of: "alice", service)
        try await service.during(.offline) {
            try await phone.execute("UPDATE todos SET title = 'Oat milk' WHERE id = 't1'")
            try service.update("todos", "t1", ["title": "Soy milk"])
            #expect(try await phone.titles == ["Oat milk"])
            // Who was first wins.
            service.uploads.answer(.acknowledge)
        }
        try await service.waitUntilSynced(phone)
        #expect(try await phone.titles == ["Soy milk"])
        #expect(service.uploads.received.map { $0.entries.map(\.opData) } == [[["title": "Oat milk"]]])
    }

    @Test func aRejectedWriteIsTakenBackAndShown() async throws {
        let service = try TodoApp.service(users: "alice")
        let options = ConnectOptions(uploadRejectionPolicy: .skip)
        let phone = try await TodoApp.database(of: "alice", service, options: options)
        service.uploads.answer { upload in
            upload.entries.contains { $0.opData?["title"] == "Wine" } ? .reject("not for children") : .apply
        }
        try await phone.add("Wine", id: "t1", to: "list of alice")
        try await phone.add("Milk", id: "t2", to: "list of alice")
        try await service.waitUntilSynced(phone)
        #expect(try await phone.titles == ["Milk"])
        let rejected = try await phone.rejectedWrites()
        #expect(rejected.map(\.reason) == ["not for children"])
        #expect(service.rows("todos").map { $0["title"] } == ["Milk"])
    }

    @Test func theNextUserSeesNothingOfTheOneBefore() async throws {
        let service = try TodoApp.service(users: "alice", "bob")
        try service.put(
            "todos",
            ["id": "t1", "list_id": "list of alice", "title": "Hers"],
            ["id": "t2", "list_id": "list of bob", "title": "His"]
        )
        let phone = try await TodoApp.database(of: "alice", service)
        #expect(try await phone.titles == ["Hers"])

        try await phone.disconnectAndClear()
        #expect(try await phone.titles == [])
        #expect(service.connectedUsers == [])

        try await phone.connect(connector: service.connector(user: "bob"))
        try await service.waitUntilSynced(phone)
        #expect(try await phone.titles == ["His"])
        #expect(service.connectedUsers == ["bob"])
    }

    @Test func anExpiredSignInIsShownAndOverAfterTheNext() async throws {
        let service = try TodoApp.service(users: "alice")
        let phone = try await TodoApp.database(of: "alice", service)
        let refusal = service.begin(.refuseToken, for: "alice")
        try await refusal.waitUntilNoticed()
        #expect("\(phone.currentStatus.downloadError, default: "none")".contains("401"))
        refusal.end()
        try await service.waitUntilSynced(phone)
        #expect(phone.currentStatus.downloadError == nil)
    }
}
