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

    private struct Element: Sendable {
        let items: [WatchedAttachmentItem]
        let deliveredAt: Date
    }

    private enum End: Sendable {
        case finished
        case failed(any Error)
    }

    private static let waits = (shortest: Duration.seconds(1), longest: Duration.seconds(60))

    /// Follows the references until they end or the task is cancelled.
    func run() async {
        var wait = ReferenceWatch.waits.shortest
        while !Task.isCancelled {
            let (end, processed) = await follow()
            guard !Task.isCancelled, case .failed(let error) = end else { return }
            if processed > 0 { wait = ReferenceWatch.waits.shortest }
            logger.error(
                "The watched attachments failed; watching again in \(wait): \(error.lineOfText)",
                tag: LogTag.attachments
            )
            guard (try? await clock.sleep(for: wait)) != nil else { return }
            wait = min(wait * 2, ReferenceWatch.waits.longest)
        }
    }

    /// - Returns: Why it is over, and how many elements were processed.
    private func follow() async -> (End, processed: Int) {
        let (elements, newest) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
        return await withTaskGroup(of: (End, Int).self) { group in
            group.addTask {
                defer { newest.finish() }
                do {
                    for try await items in try references() {
                        newest.yield(Element(items: items, deliveredAt: now()))
                    }
                    return (.finished, 0)
                } catch {
                    return (.failed(error), 0)
                }
            }
            group.addTask {
                var processed = 0
                for await element in elements {
                    do {
                        try await process(element.items, element.deliveredAt)
                    } catch {
                        return (.failed(error), processed)
                    }
                    processed += 1
                }
                return (.finished, processed)
            }
            var total: (End, processed: Int) = (.finished, 0)
            for await (end, processed) in group {
                total.processed += processed
                guard case .failed = end, case .finished = total.0 else { continue }
                total.0 = end
                group.cancelAll()
            }
            return total
        }
    }
}
