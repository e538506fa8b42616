import Foundation
import PowerSyncClient

/// Follows the references in the app's tables (docs/attachments.md "Following references").
///
/// Elements are processed one after the other; while one is processed, only the newest waiting one is kept. When the stream or the
/// processing fails, the watch begins anew after 1 s, doubling to 60 s; an element that was processed sets that back.
struct ReferenceWatch: Sendable {
    /// Where references come from.
    let references: @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>
    /// Follows an element that was delivered at a date.
    let process: @Sendable ([WatchedAttachmentItem], Date) async throws -> Void
    /// Measures waits.
    let clock: ElapsedClock
    /// The date.
    let now: @Sendable () -> Date
    /// Where messages go.
    let logger: any LoggerProtocol

    private static let waits = (shortest: Duration.seconds(1), longest: Duration.seconds(60))

    /// Follows the references until they end or the task is cancelled.
    func run() async {
        var wait = ReferenceWatch.waits.shortest
        while !Task.isCancelled {
            let (failure, processed) = await follow()
            guard !Task.isCancelled, let error = failure else { return }
            if processed > 0 { wait = ReferenceWatch.waits.shortest }
            logger.error(
                "The watched attachments failed; watching again in \(wait): \(error.lineOfText)",
                tag: LogTag.attachments
            )
            guard (try? await clock.sleep(for: wait)) != nil else { return }
            wait = min(wait * 2, ReferenceWatch.waits.longest)
        }
    }

    /// - Returns: Why it failed, unless the references have ended, and how many elements were processed.
    private func follow() async -> ((any Error)?, processed: Int) {
        let (elements, newest) = AsyncStream.makeStream(
            of: (items: [WatchedAttachmentItem], deliveredAt: Date).self,
            bufferingPolicy: .bufferingNewest(1)
        )
        return await withTaskGroup(of: ((any Error)?, Int).self) { group in
            group.addTask {
                defer { newest.finish() }
                do {
                    for try await items in try references() {
                        newest.yield((items, now()))
                    }
                    return (nil, 0)
                } catch {
                    return (error, 0)
                }
            }
            group.addTask {
                var processed = 0
                for await element in elements {
                    do {
                        try await process(element.items, element.deliveredAt)
                    } catch {
                        return (error, processed)
                    }
                    processed += 1
                }
                return (nil, processed)
            }
            var total: ((any Error)?, processed: Int) = (nil, 0)
            for await (failure, processed) in group {
                total.processed += processed
                guard let failure, total.0 == nil else { continue }
                total.0 = failure
                group.cancelAll()
            }
            return total
        }
    }
}
