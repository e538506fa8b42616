import PowerSync
import PowerSyncTesting
import Testing

/// Services and clients come and go in any order.
@Suite(.timeLimit(.minutes(1))) struct LifetimeTests {
    @Test func aServiceLivesAsLongAsItsClientsAndNoLonger() async throws {
        /// Tells when it goes away, which is when the service does that holds it.
        final class Witness: Sendable {
            let end: AsyncStream<Void>.Continuation

            init(_ end: AsyncStream<Void>.Continuation) { self.end = end }

            deinit { end.finish() }
        }

        let (lifetime, end) = AsyncStream.makeStream(of: Void.self)
        weak var weakService: FakeService?
        let database = TodoApp.database()
        do {
            let service = try TodoApp.service(users: "alice")
            weakService = service
            service.uploads.answer { [witness = Witness(end)] _ in withExtendedLifetime(witness) { .apply } }
            try await database.connect(connector: service.connector(user: "alice"))
        }
        try await database.waitForFirstSync()
        try await weakService?.waitUntilSynced(database)
        #expect(weakService != nil)
        try await database.close()
        for await _ in lifetime {}
    }

    @Test func aClientMayBeClosedInTheMiddleOfAnything() async throws {
        let faults: [FakeService.Fault?] = [
            nil, .offline, .refuseToken, .cut(afterLines: 2), .slow(by: .seconds(1)), .holdCheckpoints,
        ]
        for fault in faults {
            let service = try TodoApp.service(users: "alice")
            try service.put("todos", (0..<1200).map { ["id": "t\($0)", "list_id": "list of alice", "title": "x"] })
            let ongoing = fault.map { service.begin($0) }
            let database = TodoApp.database()
            try await database.connect(connector: service.connector(user: "alice"))
            try await database.add("Milk", id: "new", to: "list of alice")
            try await database.close()
            #expect(service.connectedUsers == [])
            ongoing?.end()
            let next = try await TodoApp.database(of: "alice", service)
            #expect(try await next.titles.count >= 1200)
        }
    }

    @Test func twoServicesKnowNothingOfEachOther() async throws {
        let (first, second) = (try TodoApp.service(users: "alice"), try TodoApp.service(users: "alice"))
        try first.put("todos", ["id": "t1", "list_id": "list of alice", "title": "first"])
        try second.put("todos", ["id": "t1", "list_id": "list of alice", "title": "second"])
        let outage = first.begin(.offline)
        let database = try await TodoApp.database(of: "alice", second)
        #expect(try await database.titles == ["second"])
        outage.end()
        // The same database moves to another service.
        try await database.connect(connector: first.connector(user: "alice"))
        try await first.waitUntilSynced(database)
        #expect(first.connectedUsers == ["alice"])
        #expect(second.connectedUsers == [])
        #expect(try await database.titles == ["first"])
    }

    @Test func aHundredServicesRunAtTheSameTime() async throws {
        try await withThrowingTaskGroup { tasks in
            for index in 0..<100 {
                tasks.addTask {
                    let service = try TodoApp.service(users: "alice")
                    let database = try await TodoApp.database(of: "alice", service)
                    try await service.during(.offline) {
                        try await database.add("offline \(index)", id: "t1", to: "list of alice")
                    }
                    try await service.waitUntilSynced(database)
                    #expect(service.row("todos", "t1")?["title"] == "offline \(index)")
                    try await database.close()
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test func manyClientsOfManyUsersShareOneService() async throws {
        let service = try FakeService(streams: TodoApp.config)
        for user in 0..<5 { try service.put("lists", ["id": "l\(user)", "owner_id": "u\(user)", "name": "x"]) }
        var clients: [any PowerSyncDatabaseProtocol] = []
        for index in 0..<20 { clients.append(try await TodoApp.database(of: "u\(index % 5)", service)) }
        for (index, client) in clients.enumerated() {
            try await client.add("from \(index)", id: "t\(index)", to: "l\(index % 5)")
        }
        for client in clients { try await service.waitUntilSynced(client) }
        for client in clients { try await service.waitUntilSynced(client) }
        for (index, client) in clients.enumerated() {
            let expected = stride(from: index % 5, to: 20, by: 5).map { "from \($0)" }.sorted()
            #expect(try await client.titles == expected)
        }
        #expect(service.rows("todos").count == 20)
    }

    @Test func whoReconnectsAsSomebodyElseIsWaitedForAnew() async throws {
        let service = try TodoApp.service(users: "alice", "bob")
        let database = try await TodoApp.database(of: "alice", service)
        for index in 0..<5 {
            try service.put("todos", ["id": "b\(index)", "list_id": "list of bob", "title": "\(index)"])
            try await service.waitUntilSynced(database)
        }
        try await database.connect(connector: service.connector(user: "bob"))
        try await service.waitUntilSynced(database)
        #expect(try await database.titles == ["0", "1", "2", "3", "4"])
    }

    @Test func whoWaitsForADatabaseThatIsClosedIsTold() async throws {
        let service = try TodoApp.service(users: "alice")
        let database = try await TodoApp.database(of: "alice", service)
        service.begin(.holdCheckpoints)
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "x"])
        let waiting = Task { try await service.waitUntilSynced(database) }
        try await database.close()
        await #expect(throws: (any Error).self) { try await waiting.value }
    }
}
