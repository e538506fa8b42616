import PowerSync
import PowerSyncTesting
import Testing

/// What a client's token and parameters say decides what it gets.
@Suite(.timeLimit(.minutes(1))) struct TokenTests {
    private static let config = """
        config: {edition: 3}
        streams:
          by_role:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list_id = auth.parameter('role')
          by_connection:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list_id = connection.parameter('room')
          by_subscription:
            query: SELECT * FROM todos WHERE list_id = subscription.parameter('list')
        """

    private let service: FakeService

    init() throws {
        service = try FakeService(streams: Self.config)
        for list in ["admin", "kitchen", "l1", "l2"] {
            try service.put("todos", ["id": "\(list)", "list_id": "\(list)", "title": "\(list)"])
        }
    }

    @Test func claimsAndConnectionParametersAreSeenByTheConfig() async throws {
        let database = TodoApp.database()
        try await database.connect(
            connector: service.connector(
                user: "u",
                claims: ["role": .string("admin"), "sub": .string("somebody else")]
            ),
            options: ConnectOptions(params: ["room": .string("kitchen")])
        )
        try await service.waitUntilSynced(database)
        #expect(try await database.titles == ["admin", "kitchen"])
        #expect(service.connectedUsers == ["u"])
    }

    @Test func subscriptionsAreSynced() async throws {
        let database = TodoApp.database()
        try await database.connect(connector: service.connector(user: "u"))
        let first = try await database.syncStream(name: "by_subscription", params: ["list": .string("l1")]).subscribe()
        try await first.waitForFirstSync()
        #expect(try await database.titles == ["l1"])
        let second = try await database.syncStream(name: "by_subscription", params: ["list": .string("l2")]).subscribe()
        try await second.waitForFirstSync()
        #expect(try await database.titles == ["l1", "l2"])
    }

    @Test func anExpiredTokenIsReplaced() async throws {
        let database = TodoApp.database()
        try await database.connect(
            connector: service.connector(user: "u", claims: ["role": .string("l1")], tokenLifetime: .seconds(60))
        )
        try await service.waitUntilSynced(database)
        for _ in 0..<10 {
            service.clock.advance(by: .seconds(20))
            try service.put("todos", ["id": "new", "list_id": "l1", "title": "new"])
            try await service.waitUntilSynced(database)
        }
        #expect(try await database.titles == ["l1", "new"])
        #expect(database.currentStatus.downloadError == nil)
    }

    @Test(arguments: [false, true])
    func bothCheckpointModesWork(requests: Bool) async throws {
        let service = try TodoApp.service(users: "alice")
        let database = try await TodoApp.database(
            of: "alice",
            service,
            options: ConnectOptions(checkpointMode: requests ? .requests() : .legacy)
        )
        try await database.add("Milk", id: "t1", to: "list of alice")
        try await service.waitUntilSynced(database)
        #expect(service.rows("todos").count == 1)
        if requests {
            try service.put("todos", ["id": "t2", "list_id": "list of alice", "title": "Tea"])
            try await database.requestCheckpoint().waitForSync()
            #expect(try await database.titles == ["Milk", "Tea"])
        }
        #expect(database.currentStatus.activity.upload == nil)
    }
}
