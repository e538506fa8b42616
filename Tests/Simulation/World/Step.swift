import TestSupport

/// Something that happens to the world at a time.
struct Step {
    enum Action {
        case write
        case subscribe, unsubscribe
        case disconnect, connect
        case changeUser(soft: Bool)
        case kill(afterFileChanges: Int), killNow, losePower, launch, restore
        case updateSchema(asConnected: Bool)
        case linkDown(seconds: Int), linkSilent(seconds: Int), linkCut, linkSlow, linkLossy, linkRepeats
        case linkSilentOut(seconds: Int), linkSilentIn(seconds: Int), linkHalfClosed, linkForgotten
        case clock(aheadSeconds: Int)
        case fullDisk(seconds: Int)
        case backendBusy(seconds: Int), backendSlow(seconds: Int), backendRejects(seconds: Int), shortTokens
        case backendClock(aheadSeconds: Int), killBackend(afterFileChanges: Int)
        case administer
        case changeMembers
        case deploy, compact
        case addNode, removeNode
        case restoreSource(afterSeconds: Int), alterSource
        case killService(afterFileChanges: Int), serviceLosesPower
        case serviceClock(aheadSeconds: Int), serviceFullDisk(seconds: Int)

        /// Whether it happens to no device in particular.
        var concernsAll: Bool {
            switch self {
            case .write, .subscribe, .unsubscribe, .disconnect, .connect, .changeUser, .kill, .killNow, .losePower,
                .launch, .restore, .updateSchema, .linkDown, .linkSilent, .linkSilentOut, .linkSilentIn,
                .linkHalfClosed, .linkForgotten, .linkCut, .linkSlow, .linkLossy, .linkRepeats, .clock, .fullDisk:
                false
            case .backendBusy, .backendSlow, .backendRejects, .shortTokens, .backendClock, .killBackend, .administer,
                .changeMembers, .deploy, .compact, .addNode, .removeNode, .restoreSource, .alterSource, .killService,
                .serviceLosesPower, .serviceClock, .serviceFullDisk:
                true
            }
        }

        /// Whether it ends a process of a device, or the service.
        var endsProcess: Bool {
            switch self {
            case .kill, .killNow, .losePower, .restore, .killService, .serviceLosesPower, .killBackend: true
            default: false
            }
        }
    }

    /// Its number in the plan.
    let number: Int
    /// When, in milliseconds from the beginning.
    let time: UInt64
    /// The device, by its number; of no meaning for what concerns all.
    let device: Int
    let action: Action
    /// For its own choices.
    let seed: UInt64

    /// Plans what happens during a part of a run, in order.
    ///
    /// - Parameters:
    ///   - random: Decides.
    ///   - devices: How many devices there are.
    ///   - from: The beginning, in milliseconds.
    ///   - until: The end.
    ///   - firstNumber: The number of the first step.
    /// - Returns: The steps.
    static func plan(
        _ random: inout SeededGenerator,
        devices: Int,
        from: UInt64,
        until: UInt64,
        firstNumber: Int
    ) -> [Step] {
        var steps: [Step] = []
        var time = from
        while true {
            // About one step of a device in two minutes, and changes of others besides.
            time += UInt64(1 + random.number(below: 160_000 / max(devices, 1)))
            guard time < until else { return steps }
            steps.append(
                Step(
                    number: firstNumber + steps.count,
                    time: time,
                    device: random.number(below: devices),
                    action: action(&random),
                    seed: random.next()
                )
            )
        }
    }

    private static func action(_ random: inout SeededGenerator) -> Action {
        let choice = random.number(below: 247)
        return switch choice {
        case 0..<90: .write
        case 90..<130: .administer
        case 130..<138: .changeMembers
        case 138..<144: .disconnect
        case 144..<154: .connect
        case 154..<158: .changeUser(soft: random.number(below: 3) == 0)
        case 158..<162: .kill(afterFileChanges: random.number(below: 40))
        case 162..<164: .killNow
        case 164..<172: .launch
        case 172..<175: .linkDown(seconds: 1 + random.number(below: 300))
        case 175..<178: .linkSilent(seconds: 1 + random.number(below: 240))
        case 178..<182: .linkCut
        case 182..<184: .linkSlow
        case 184..<186: .linkLossy
        case 186..<188: .linkRepeats
        case 188..<190: .clock(aheadSeconds: random.number(below: 7200) - 3600)
        case 190..<192: .fullDisk(seconds: 1 + random.number(below: 120))
        case 192..<194: .backendBusy(seconds: 1 + random.number(below: 120))
        case 194..<196: .backendRejects(seconds: 1 + random.number(below: 300))
        case 196..<197: .shortTokens
        case 197..<199: .deploy
        case 199..<201: .killService(afterFileChanges: random.number(below: 200))
        case 201..<207: .subscribe
        case 207..<210: .unsubscribe
        case 210..<212: .restore
        case 212..<213: .restoreSource(afterSeconds: 1 + random.number(below: 900))
        case 213..<215: .compact
        case 215..<216: .serviceFullDisk(seconds: 1 + random.number(below: 120))
        case 216..<217: .serviceClock(aheadSeconds: random.number(below: 1200) - 600)
        case 217..<218: .backendClock(aheadSeconds: random.number(below: 1200) - 600)
        case 218..<222: .addNode
        case 222..<224: .removeNode
        case 224..<227: .losePower
        case 227..<229: .serviceLosesPower
        case 229..<233: .updateSchema(asConnected: random.number(below: 4) == 0)
        case 233..<235: .alterSource
        case 235..<236: .linkSilentOut(seconds: 1 + random.number(below: 240))
        case 236..<237: .linkSilentIn(seconds: 1 + random.number(below: 240))
        case 237..<240: .linkHalfClosed
        case 240..<243: .linkForgotten
        case 243..<245: .killBackend(afterFileChanges: random.number(below: 60))
        default: .backendSlow(seconds: 1 + random.number(below: 120))
        }
    }
}
