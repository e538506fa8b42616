import PowerSync
import PowerSyncTesting
import Testing

/// What clients upload, and how the backend answers.
@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    private struct BackendFailure: Error {}

    private let service: FakeService

    init() throws {
        service = try TodoApp.service(users: "alice", "bob")
    }

    @Test func uploadsAreAppliedToTheRows() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        try await alice.writeTransaction { transaction in
            try transaction.execute(
                sql: "INSERT INTO todos(id, list_id, title) VALUES ('t1', 'list of alice', 'Milk')",
                parameters: []
            )
            try transaction.execute(sql: "UPDATE todos SET done = 1 WHERE id = 't1'", parameters: [])
            try transaction.execute(
                sql: "INSERT INTO todos(id, title) VALUES ('t2', 'Tea')",
                parameters: []
            )
            try transaction.execute(sql: "DELETE FROM todos WHERE id = 't2'", parameters: [])
        }
        try await service.waitUntilSynced(alice)
        #expect(service.rows("todos") == [["id": "t1", "list_id": "list of alice", "title": "Milk", "done": 1]])
        let upload = try await service.uploads.next()
        #expect(upload.user == "alice")
        #expect(upload.clientID == (try await alice.getClientId()))
        #expect(upload.entries.map(\.op) == [.put, .patch, .put, .delete])
        #expect(upload.attempt == 1)
        #expect(service.uploads.received.count == 1)
    }

    @Test func updatesAndDeletesOfRowsThatAreGoneChangeNothing() async throws {
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        let alice = try await TodoApp.database(of: "alice", service)
        try await service.during(.offline) {
            try service.delete("todos", "t1")
            try await alice.execute("UPDATE todos SET done = 1")
        }
        try await service.waitUntilSynced(alice)
        #expect(service.rows("todos") == [])
        #expect(try await alice.titles == [])
    }

    @Test func tablesThatNoStreamReadsAreKept() async throws {
        let schema = Schema(Table(name: "events", columns: [.text("kind")], insertOnly: true))
        let database = PowerSyncDatabase(inMemory: schema, logger: TodoApp.logger)
        try await database.connect(connector: service.connector(user: "alice"))
        try await database.execute("INSERT INTO events(id, kind) VALUES ('e1', 'opened')")
        _ = try await service.uploads.next()
        try await service.waitUntilSynced(database)
        #expect(service.rows("events") == [["id": "e1", "kind": "opened"]])
    }

    @Test func aFailedUploadIsTriedAgainWithTheNextAnswer() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        service.uploads.answer(.fail(BackendFailure()))
        try await alice.add("Milk", id: "t1", to: "list of alice")
        #expect(try await service.uploads.next().attempt == 1)
        for await status in alice.currentStatus.asFlow() where status.uploadError != nil {
            #expect(status.uploadError is BackendFailure)
            break
        }
        service.uploads.answer { upload in upload.attempt < 3 ? .fail(BackendFailure()) : .apply }
        #expect(try await service.uploads.next().attempt == 2)
        // Whether it comes before or after the failure: it is not missed.
        service.retry()
        try await service.waitUntilSynced(alice)
        #expect(alice.currentStatus.uploadError == nil)
        #expect(service.uploads.received.map(\.attempt) == [1, 2, 3])
    }

    @Test func anErrorOfTheTestIsAnErrorOfTheBackend() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        service.uploads.answer { _ in throw BackendFailure() }
        try await alice.add("Milk", id: "t1", to: "list of alice")
        for await status in alice.currentStatus.asFlow() where status.uploadError is BackendFailure { break }
        #expect(service.rows("todos") == [])
        service.uploads.answer(.apply)
        try await service.waitUntilSynced(alice)
        #expect(service.rows("todos").count == 1)
    }

    @Test func aHeldUploadIsAnsweredByTheNextAnswer() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        service.uploads.answer(.hold)
        try await alice.add("Milk", id: "t1", to: "list of alice")
        _ = try await service.uploads.next()
        #expect(alice.currentStatus.uploading)
        #expect(service.rows("todos") == [])
        service.uploads.answer(.apply)
        try await service.waitUntilSynced(alice)
        #expect(service.uploads.received.count == 1)
        #expect(service.rows("todos").count == 1)
    }

    @Test func aHeldUploadFailsWhenTheNetworkGoes() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        service.uploads.answer(.hold)
        try await alice.add("Milk", id: "t1", to: "list of alice")
        _ = try await service.uploads.next()
        let outage = service.begin(.offline)
        try await outage.waitUntilNoticed()
        service.uploads.answer(.apply)
        outage.end()
        try await service.waitUntilSynced(alice)
        #expect(service.uploads.received.map(\.attempt) == [1, 2])
    }

    @Test func someWritesOfATransactionAreRejected() async throws {
        let options = ConnectOptions(uploadRejectionPolicy: .park)
        let alice = try await TodoApp.database(of: "alice", service, options: options)
        service.uploads.answer { upload in
            let wrong = upload.entries.filter { $0.id == "t2" }
            return wrong.isEmpty ? .apply : .reject(wrong.map { UploadRejection($0, reason: "no") })
        }
        try await alice.writeTransaction { transaction in
            for id in ["t1", "t2", "t3"] {
                try transaction.execute(
                    sql: "INSERT INTO todos(id, list_id, title) VALUES (?, 'list of alice', 'x')",
                    parameters: [id]
                )
            }
        }
        try await service.waitUntilSynced(alice)
        #expect(service.rows("todos").map { $0["id"] } == ["t1", "t3"])
        #expect(try await alice.rejectedWrites().map(\.entry.id) == ["t2"])
    }

    @Test func theBackendMayChangeRowsWhileItAnswers() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        service.uploads.answer { [weak service] upload in
            for entry in upload.entries {
                try service?.put(
                    "todos",
                    ["id": "\(entry.id)", "list_id": "list of alice", "title": "checked", "done": 1]
                )
            }
            return .acknowledge
        }
        try await alice.add("Milk", id: "t1", to: "list of alice")
        try await service.waitUntilSynced(alice)
        #expect(try await alice.titles == ["checked"])
    }

    @Test func anAppsOwnUploadIsTested() async throws {
        struct AppConnector: PowerSyncBackendConnectorProtocol {
            let service: FakeService

            func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

            func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
                while let batch = try await database.getCrudBatch(limit: 2) {
                    try service.transaction { changes in
                        for entry in batch.crud {
                            changes.put(
                                "todos",
                                ["id": "\(entry.id)", "list_id": "list of alice", "title": "by the app"]
                            )
                        }
                    }
                    try await batch.complete()
                }
            }
        }
        let alice = TodoApp.database()
        for id in ["t1", "t2", "t3"] { try await alice.add("x", id: id, to: "list of alice") }
        try await alice.connect(
            connector: service.connector(user: "alice", uploadingWith: AppConnector(service: service))
        )
        try await service.waitUntilSynced(alice)
        #expect(try await alice.titles == ["by the app", "by the app", "by the app"])
        #expect(service.uploads.received.isEmpty)
    }

    @Test func oneWaitBringsTheWritesOfEachDeviceToTheOther() async throws {
        /// Uploads when the phone has everything else.
        struct LateConnector: PowerSyncBackendConnectorProtocol {
            let service: FakeService
            let phone: any PowerSyncDatabaseProtocol

            func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

            func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
                try await service.waitUntilSynced(phone)
                guard let batch = try await database.getCrudBatch() else { return }
                try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
                try await batch.complete()
            }
        }
        let phone = try await TodoApp.database(of: "alice", service)
        let tablet = TodoApp.database()
        try await tablet.add("Milk", id: "t1", to: "list of alice")
        async let synced: Void = service.waitUntilSynced(phone, tablet)
        try await tablet.connect(
            connector: service.connector(
                user: "alice",
                uploadingWith: LateConnector(service: service, phone: phone)
            )
        )
        try await synced
        #expect(try await phone.titles == ["Milk"])
    }

    @Test func aConflictOfTwoDevicesEndsTheSameOnBoth() async throws {
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        let phone = try await TodoApp.database(of: "alice", service)
        let tablet = try await TodoApp.database(of: "alice", service)
        try await service.during(.offline) {
            try await phone.execute("UPDATE todos SET title = 'phone'")
            try await tablet.execute("UPDATE todos SET title = 'tablet', done = 1")
        }
        try await service.waitUntilSynced(phone, tablet)
        let title = service.row("todos", "t1")?["title"]
        #expect(title == "phone" || title == "tablet")
        #expect(try await phone.titles == tablet.titles)
        #expect(try await phone.titles.map { FakeService.Value.text($0) } == [title])
    }
}
