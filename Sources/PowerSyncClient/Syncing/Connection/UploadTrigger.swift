import PowerSyncCore

/// A coalescing flag that says "look at the upload queue".
typealias UploadTrigger = CoalescingTrigger<UploadReason>
