import PowerSync
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionContextTests {
    @Test
    func cancelledWaiterThrowsAndTheConnectionsComeBack() async throws {
        try await withFileDatabase { database in
            try await database.waitForReady()
            let gate = Gate()
            let hasStarted = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        try await database.readLock { _ in
                            hasStarted.increment()
                            gate.wait()
                        }
                    }
                }
                await hasStarted.wait(for: 4)
                let waiter = Task { try await database.get("SELECT 1") { try $0.getInt(index: 0) } }
                waiter.cancel()
                await #expect(throws: CancellationError.self) { try await waiter.value }
                gate.open(times: 5)
                try await group.waitForAll()
            }
            for _ in 0..<5 {
                #expect(try await database.get("SELECT 1") { try $0.getInt(index: 0) } == 1)
            }
        }
    }

    @Test func waitingWriterIsCancelled() async throws {
        try await withMemoryDatabase { database in
            let gate = Gate()
            let hasStarted = Counter()
            let running = Task {
                try await database.writeLock { _ in
                    hasStarted.increment()
                    gate.wait()
                }
            }
            await hasStarted.wait(for: 1)
            let waiter = Task { try await database.insertUser("Ada") }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            gate.open()
            try await running.value
            #expect(try await database.count("users") == 0)
        }
    }

    @Test
    func callbackThatHasBegunRunsToItsEnd() async throws {
        try await withMemoryDatabase { database async throws in
            let gate = Gate()
            let hasStarted = Counter()
            let task = Task {
                try await database.writeTransaction { transaction in
                    hasStarted.increment()
                    gate.wait()
                    try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('1', 'Ada')", parameters: [])
                    return 42
                }
            }
            await hasStarted.wait(for: 1)
            task.cancel()
            gate.open()
            #expect(try await task.value == 42)
            #expect(try await database.count("users") == 1)
        }
    }

    @Test
    func contextThrowsAfterItsCallbackHasReturned() async throws {
        try await withMemoryDatabase { database in
            let context = try await database.writeLock { $0 }
            #expect(throws: PowerSyncError.self) { try context.execute(sql: "SELECT 1", parameters: []) }
            let transaction = try await database.writeTransaction { $0 }
            #expect(throws: PowerSyncError.self) { try transaction.getAll(sql: "SELECT 1", parameters: []) { _ in 0 } }
            // On the thread of a later callback, too.
            try await database.writeLock { _ -> Void in
                #expect(throws: PowerSyncError.self) { try context.execute(sql: "SELECT 1", parameters: []) }
            }
        }
    }

    @Test func contextThrowsOnAnotherThread() async throws {
        try await withMemoryDatabase { database in
            let hasStarted = Counter()
            let gate = Gate()
            let leaked = Shared<(any ConnectionContext)?>(nil)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await database.writeLock { context in
                        leaked.value = context
                        hasStarted.increment()
                        gate.wait()
                    }
                }
                await hasStarted.wait(for: 1)
                let context = try #require(leaked.value)
                #expect(throws: PowerSyncError.self) { try context.execute(sql: "SELECT 1", parameters: []) }
                gate.open()
                try await group.waitForAll()
            }
        }
    }

    @Test func fourReadersRunAtTheSameTime() async throws {
        try await withFileDatabase { database in
            try await database.waitForReady()
            let gate = Gate()
            let hasStarted = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await database.readLock { _ in
                            hasStarted.increment()
                            gate.wait()
                        }
                    }
                }
                await hasStarted.wait(for: 4)
                gate.open(times: 4)
                try await group.waitForAll()
            }
        }
    }
}
