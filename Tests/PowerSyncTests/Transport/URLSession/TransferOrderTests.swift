import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSyncHTTP
import Testing

@testable import PowerSyncURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a transfer does with its task, when its reader is faster than the thread of its session.
@Suite(.timeLimit(.minutes(1))) struct TransferOrderTests {
    /// A task that somebody comes in front of before it is suspended.
    private final class SlowTask: TransferTask {
        let calls = NIOLockedValueBox<[String]>([])
        let beforeSuspension = NIOLockedValueBox<@Sendable () -> Void>({})

        let resumed = Counter()

        func resume() {
            calls.withLockedValue { $0.append("resume") }
            resumed.increment()
        }

        func suspend() {
            beforeSuspension.withLockedValue { $0 }()
            calls.withLockedValue { $0.append("suspend") }
        }

        func cancel() { calls.withLockedValue { $0.append("cancel") } }
    }

    @Test func aTaskThatIsSuspendedAfterEverythingWasReadGoesOn() async throws {
        let task = SlowTask()
        let transfer = Transfer(task, of: HTTPExchangeRequest(.GET, "https://sync.test"), pausing: .suspendsTask)
        let url = try #require(URL(string: "https://sync.test"))
        let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        let asking = Task { try await transfer.head().statusCode }
        task.beforeSuspension.withLockedValue {
            $0 = {
                let isRead = DispatchSemaphore(value: 0)
                Task {
                    _ = try await transfer.chunk()
                    isRead.signal()
                }
                isRead.wait()
            }
        }
        // Nobody has asked before the request begins.
        await task.resumed.wait(for: 1)
        transfer.received(head)
        #expect(try await asking.value == 200)
        // On a thread of its own, as the session does it.
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                transfer.received(Data(count: 2 << 20))
                done.resume()
            }
        }
        #expect(task.calls.withLockedValue { $0 } == ["resume", "suspend", "resume"])
    }
}
