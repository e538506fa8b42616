import Foundation
import PowerSync
import PowerSyncTesting
import Testing

/// The data layer of an app in this folder compiles unchanged, and works.
@Suite(.timeLimit(.minutes(1))) struct SourceCompatibilityTests {
    private let backend = BackendClient(session: BackendClient.Session(userID: "ada", accessToken: "jwt"))

    /// The app on a database in memory and a scripted service.
    @MainActor private func withApp(
        _ body: @MainActor (AppModel, ScriptedTransport, MemoryLogWriter) async throws -> Void
    ) async throws {
        let writer = MemoryLogWriter()
        let service = ScriptedTransport()
        let database = service.makeDatabase(
            schema: AppSchema,
            logger: FilteringLogger(wrapped: makeLogger(writer: writer))
        )
        let app = AppModel(connector: SupabaseConnector(client: backend), db: database)
        do {
            try await body(app, service, writer)
        } catch {
            try? await database.close()
            throw error
        }
        try await database.close()
    }

    /// Accepts the next stream; the first line starts the upload of what waits already.
    private func acceptStream(of service: ScriptedTransport) async throws {
        let stream = try await service.nextStream()
        stream.accept()
        stream.send(#"{"token_expires_in":3600}"#)
    }

    private func todo(_ id: String, _ description: String, list: String = "l1") -> Todo {
        Todo(
            id: id,
            listId: list,
            photoId: nil,
            description: description,
            isComplete: false,
            estimate: 1.5,
            createdAt: Date(timeIntervalSince1970: 1_700_000_000)
        )
    }

    @Test func schemaDescribesItself() throws {
        try AppSchema.validate()
        #expect(
            describe(AppSchema) == [
                "lists name text,created_at text,owner_id text ",
                "todos list_id text,photo_id text,description text,completed integer,estimate real,created_at text,"
                    + "completed_at text list_id,-completed+-completed_at,photo_id,list_id+photo_id metadata ignoring"
                    + " old description",
                "local_drafts body text  local",
                "logs line text  insert-only",
            ]
        )
    }

    @MainActor @Test func screensReadAndWriteOffline() async throws {
        try await withApp { app, _, _ in
            let id = UUID()
            try await app.insertList(id: id, name: "Groceries")
            let list = id.uuidString.lowercased()
            let milk = todo("t1", "Milk", list: list)
            try await app.insertTodo(milk)
            #expect(try await app.todo("t1") == milk)
            #expect(try await app.todo("t2") == nil)

            var todos = try app.todos(of: list).makeAsyncIterator()
            #expect(try await todos.next() == [milk])
            try await app.rename("t1", to: "Oat milk")
            while let rows = try await todos.next(), rows.first?.description != "Oat milk" {}
            #expect(try await app.openCount() == 1)
            try await app.setComplete(true, id: "t1")
            #expect(try await app.openCount() == 0)
            #expect(app.statusLine() == "offline")
            #expect(try await app.deleteList(id: list).isEmpty)
            #expect(try await app.todo("t1") == nil)
            #expect(await app.version().split(separator: ".").count == 3)
        }
    }

    @MainActor @Test func listScreenFollowsItsQuery() async throws {
        try await withApp { app, _, _ in
            let (names, continuation) = AsyncStream.makeStream(of: [String].self)
            let screen = Task { await app.watchLists { lists in continuation.yield(lists.map(\.name)) } }
            var updates = names.makeAsyncIterator()
            #expect(await updates.next() == [])
            try await app.insertList(name: "A")
            while let names = await updates.next(), names != ["A"] {}
            screen.cancel()
            await screen.value
        }
    }

    @MainActor @Test func connectorUploadsEveryOperation() async throws {
        try await withApp { app, service, _ in
            await app.connect()
            let stream = try await service.nextStream()
            #expect(stream.token == "jwt")
            #expect(stream.requestText.contains(#""tenant":"acme""#))
            try await app.insertTodo(todo("t1", "Milk"))
            try await app.insertTodo(todo("t2", "Tea"))
            try await app.setComplete(true, id: "t1")
            try await app.db.execute("DELETE FROM todos WHERE id = 't2'")
            try await app.db.execute("INSERT INTO logs (id, line) VALUES ('1', 'hello')")
            // After the writes, which are uploaded together then.
            stream.accept()
            stream.send(#"{"token_expires_in":3600}"#)
            let checkpoint = try await service.nextWriteCheckpoint()
            #expect(try await app.db.getNextCrudTransaction() == nil)
            let rows = await backend.rows
            #expect(rows["todos"]?.keys.sorted() == ["t1"])
            #expect(
                rows["todos"]?["t1"] == [
                    "id": "t1", "list_id": "l1", "description": "Milk", "completed": "1", "estimate": "1.5",
                    "created_at": "2023-11-14T22:13:20Z", "completed_at": "2023-11-14T22:13:20Z",
                ]
            )
            #expect(rows["logs"]?["1"]?["line"] == "hello")
            checkpoint.respond(1)
            try await app.signOut()
            #expect(app.db.currentStatus.hasSynced == false)
            await #expect(throws: AuthError.self) { try await backend.session }
        }
    }

    @MainActor @Test func fatalErrorDiscardsTheTransaction() async throws {
        try await withApp { app, service, writer in
            await backend.failOnce(with: PostgrestError(code: "23505"))
            try await app.insertTodo(todo("t1", "Milk"))
            await app.connect()
            try await acceptStream(of: service)
            try await service.nextWriteCheckpoint().respond(1)
            #expect(await backend.rows.isEmpty)
            #expect(try await app.db.getNextCrudTransaction() == nil)
            #expect(app.db.currentStatus.uploadError == nil)
            #expect(writer.lines.contains { $0.hasPrefix("ERROR [SupabaseConnector] Data upload error") })
        }
    }

    @MainActor @Test func otherErrorIsShownAndTriedAgain() async throws {
        try await withApp { app, service, _ in
            await backend.failOnce(with: URLError(.timedOut))
            try await app.insertTodo(todo("t1", "Milk"))
            let flow = app.db.currentStatus.asFlow()
            await app.connect()
            try await acceptStream(of: service)
            for await status in flow where status.uploadError != nil {
                #expect(status.uploadError as? URLError == URLError(.timedOut))
                break
            }
            #expect(app.statusLine().hasPrefix("error: "))
            #expect(try await app.db.getNextCrudTransaction()?.crud.count == 1)
        }
    }

    @MainActor @Test func batchesCarryEverything() async throws {
        try await withApp { app, _, _ in
            try await app.insertTodo(todo("t1", "Milk"))
            try await app.rename("t1", to: "Oat milk")
            try await BatchConnector(client: backend, writeCheckpoint: "7").uploadData(database: app.db)
            let posts = try await backend.posts.map { try JSONDecoder().decode(JsonParam.self, from: $0) }
            #expect(posts.map { $0["op"] } == [.string("PUT"), .string("PATCH")])
            #expect(posts.map { $0["metadata"] } == [.string("by nobody"), .null])
            #expect(posts.map { $0["old"] } == [.null, .object(["description": .string("Milk")])])
            #expect(posts.last?["data"] == .object(["description": .string("Oat milk")]))
            #expect(try await app.db.getCrudBatch() == nil)
        }
    }

    @MainActor @Test func actorUploadsTransactions() async throws {
        try await withApp { app, service, _ in
            try await app.insertTodo(todo("t1", "Milk"))
            try await app.insertTodo(todo("t2", "Tea"))
            let connector = TransactionsConnector()
            try await app.db.connect(connector: connector)
            try await acceptStream(of: service)
            try await service.nextWriteCheckpoint().respond(1)
            #expect(await connector.uploaded == [["t1"], ["t2"]])
        }
    }

    @MainActor @Test func fullTextIndexFollowsTheView() async throws {
        try await withApp { app, _, _ in
            try await app.insertTodo(todo("t1", "Buy oat milk"))
            try await createFtsTables(db: app.db, schema: AppSchema, tableName: "todos", columns: ["description"])
            try await app.insertTodo(todo("t2", "Milk the cow"))
            #expect(try await search("mil", in: "todos", db: app.db).sorted() == ["t1", "t2"])
            try await app.rename("t1", to: "Buy bread")
            #expect(try await search("mil", in: "todos", db: app.db) == ["t2"])
            #expect(try await search("bread", in: "todos", db: app.db) == ["t1"])
            try await app.db.execute("DELETE FROM todos WHERE id = 't2'")
            #expect(try await search("mil", in: "todos", db: app.db).isEmpty)
        }
    }

    @MainActor @Test func streamsAreSubscribed() async throws {
        try await withApp { app, _, _ in
            let subscription = try await app.subscribe(toProject: "p1")
            #expect(subscription.name == "project")
            #expect(app.db.currentStatus.forStream(stream: subscription)?.subscription.hasSynced == false)
            try await subscription.unsubscribe()
        }
    }

    // MARK: - Fakes

    @MainActor @Test func viewModelsRunOnFakes() async throws {
        let row = MockRow(values: [("id", "1"), ("name", "Groceries"), ("created_at", "now"), ("owner_id", nil)])
        var status = MockStatusData(connected: true)
        let json = #"{"priority":2,"last_synced_at":1700000000,"has_synced":true}"#
        status.entries = [try JSONDecoder().decode(PriorityStatusEntry.self, from: Data(json.utf8))]
        status.downloadProgress = MockStatusData.Progress(totalOperations: 4, downloadedOperations: 1)
        let fake = MockDatabase(rows: [row], status: status)
        let app = AppModel(connector: SupabaseConnector(client: backend), db: fake)
        #expect(app.statusLine() == "1/4 (25 %)")
        var shown: [ListContent] = []
        await app.watchLists { shown = $0 }
        #expect(shown == [ListContent(id: "1", name: "Groceries", createdAt: "now", ownerId: nil)])
        try await app.insertList(name: "x")
        try await app.deleteList(id: "1")
        #expect(fake.queries.context.executed.contains { $0.hasPrefix("DELETE FROM lists") })
        #expect(fake.currentStatus.statusForPriority(BucketPriority(2)).hasSynced == true)
        let subscription = try await fake.syncStream(name: "s", params: nil).subscribe()
        #expect(subscription.name == "s")
        // What we add to the protocol needs more than the fake has, and says so.
        let error = await #expect(throws: PowerSyncError.self) { try await fake.getUploadQueueStats() }
        #expect(error?.localizedDescription.contains("not supported") == true)
    }

    @Test func queriesAreEnoughForReading() async throws {
        let queries: any Queries = MockQueries(context: MockTransaction(rows: [MockRow(values: [("n", "7")])]))
        #expect(try await queries.get("SELECT n") { try $0.getInt(name: "n") } == 7)
        #expect(try await queries.execute("UPDATE t SET n = 8") == 1)
        await #expect(throws: SqlCursorError.self) {
            try await queries.get("SELECT n") { try $0.getInt(name: "m") }
        }
    }

    // MARK: - Older releases

    @available(*, deprecated)
    @Test func olderAppsConnect() async throws {
        let apps = makeOlderApps()
        #expect(apps.map { $0.options().retryDelay } == [4, 5])
        for app in apps {
            let service = ScriptedTransport()
            let database = service.makeDatabase(schema: AppSchema, logger: DefaultLogger(writers: []))
            try await app.connect(database)
            switch app {
            case is ConnectorSubclassApp:
                #expect(try await service.nextStream().token == "old")
            default:
                // Its class has no credentials.
                for await status in database.currentStatus.asFlow() where status.downloadError != nil { break }
                #expect(service.streamRequests == 0)
            }
            try await database.close()
        }
    }
}
