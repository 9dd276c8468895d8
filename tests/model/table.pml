// A model of the table's protocol for the Spin model checker: include/penstock/store/table.hpp, one-word states.
//
// Three callers work on one shard whose two lines have one slot each, so that three keys crowd. Each atomic block is one
// load, store or compare-and-swap of the code and what the thread computes from it; the names are the code's.
// States are words of a token bucket (algorithm/arrival.hpp) of BURST units that come back one a tick. Spin's memory is
// sequentially consistent: what weaker orders could do is left to ThreadSanitizer and to the argument in lock.hpp.
//
// Beside the table runs an oracle, which has a word for every key and changes it in the step in which the table's change
// takes effect. Checked in every state and at every step:
//   - no double allowance: what the table admits the oracle admits, and what a key is held at, or would start from, is
//     at least the oracle's word;
//   - no lost allowance (-DEXACT: as many keys as slots, a clock that stands): it is the oracle's word, and a call is
//     refused only if the oracle would have refused it at a moment of that call;
//   - a compare-and-swap changes the slot of its own key, but for the coincidence that table.hpp names: the key's word
//     was lowered meanwhile. -DCOINCIDENCE does not excuse that, and Spin must find it;
//   - a refusal writes nothing; nobody waits for ever (an invalid end state).
// -DTICKS: time goes on meanwhile, so that slots are reclaimed and readings lag; one caller asks for a held key, one for
// a dropped one, one for any. -DFORGETS: keys are forgotten, too. -DREFUSE: when_full::refuse instead of inherit.
// The other flags are bugs put in, each of which must be found: see run.
//
// Steps are as few as lose nothing: tags and the floor change only under the lock, and what was read is dropped when the
// version moved, so a guarded reading of them is one step with the first word; find in `attempt` is a hint in the code
// too; and nobody can tell the lock's release from the store before it.

#ifndef BURST
#define BURST 2
#endif
#ifdef EXACT
#define KEYS 2
#else
#define KEYS 3
#endif
#define CALLERS 3
#define NONE 9   // no slot
#define BUSY 99  // table::of::busy

// The table.
byte lock;  // the sequence lock's word
byte floor;
byte tag[2];
byte word[2];

byte now = 1;  // 0 lies before all time

// The oracle's words, and what must be remembered for the checks.
byte oracle[KEYS + 1];
byte looked_at[CALLERS];  // the slot whose word this caller means to swap
bool lowered[CALLERS];    // that word was lowered since
bool coincided;           // the coincidence happened: nothing is checked after it
#ifdef EXACT
byte key_of[CALLERS], reading_of[CALLERS];
bool refusable[CALLERS];  // at some moment of this call the oracle would have refused it
#endif

#define most(a, b) ((a) > (b) -> (a) : (b))
#define is_fresh(w, n) ((w) <= (n))
#define admitted(w, n) (most(w, n) + 1)
#define fits(w, n) ((w) != BUSY && admitted(w, n) <= (n) + BURST)
#define refunded(w, n) ((w) <= (n) -> (w) : ((w) == (n) + 1 -> 0 : (w) - 1))

// What the table has for a key, seen while nobody holds the lock.
#define held_at(k) (tag[0] == (k) -> word[0] : word[1])
#define is_held(k) (tag[0] == (k) || tag[1] == (k))
#ifdef EXACT
#define agrees(k) (is_held(k) -> held_at(k) == oracle[k] : is_fresh(oracle[k], now))
#else
#define agrees(k) ((is_held(k) -> held_at(k) : floor) >= oracle[k])
#endif
#if KEYS == 2
#define all_agree (agrees(1) && agrees(2))
#else
#define all_agree (agrees(1) && agrees(2) && agrees(3))
#endif

active proctype monitor() {
end:
  do
  :: atomic { lock % 2 == 0 && !coincided && !all_agree -> assert(false) }
  od
}

mtype = { elsewhere, unchanged, changed, overtaken };

// ---- the oracle's side, inside the step in which a change takes effect ----------------------------------------------

inline note_change() {
#ifdef EXACT
  for (i : 0 .. CALLERS - 1) {
    refusable[i] = refusable[i] || (key_of[i] == key && !fits(oracle[key], reading_of[i]))
  }
  i = 0
#else
  skip
#endif
}

inline oracle_admits() {
  assert(coincided || fits(oracle[key], n));
  oracle[key] = admitted(oracle[key], n);
  note_change()
}

inline oracle_amends() {
  oracle[key] = (forgets -> 0 : refunded(oracle[key], n));
  note_change()
}

inline landed() {
#ifdef COINCIDENCE
  assert(tag[slot] == key);
#else
  assert(coincided || tag[slot] == key || (lowered[me] && seen != 0));
  coincided = coincided || tag[slot] != key;
#endif
}

// ---- sequence_lock --------------------------------------------------------------------------------------------------

inline read_begin() { atomic { lock % 2 == 0 -> version = lock } }

inline lock_at() {
  atomic {
#ifdef NO_VERSION_CHECK
    lock % 2 == 0 -> lock = lock + 1;
    locked = true;
#else
    locked = (lock == version);
    lock = (locked -> version + 1 : lock);
#endif
    wrote = wrote || locked
  }
}

#define UNLOCK lock = lock + 1

// ---- table::of ------------------------------------------------------------------------------------------------------

#define FIND slot = (tag[0] == key -> 0 : (tag[1] == key -> 1 : NONE))

// Compare-and-swap, leaving ok. (One that fails for no reason is like one that was overtaken.)
#define REPLACE(w) ok = (word[slot] == seen); word[slot] = (ok -> (w) : word[slot])

inline attempt() {
  what = elsewhere;
  atomic { FIND };
  if
  :: slot == NONE
  :: else ->
    atomic { seen = word[slot]; looked_at[me] = slot; lowered[me] = false };
    atomic {
      if
#ifndef NO_TAG_CHECK
      :: tag[slot] != key
#endif
#ifndef NO_BUSY_CHECK
      :: seen == BUSY
#endif
#ifndef ZERO_SWAPPED
      :: seen == 0
#endif
      :: else -> what = (fits(seen, n) -> changed : unchanged); next = admitted(seen, n)
      fi
    };
    if
    :: what == changed ->
      atomic {
        REPLACE(next);
        if
        :: ok -> wrote = true; landed(); oracle_admits()
        :: else -> what = overtaken
        fi
      }
    :: else
    fi
  fi
}

// Leaves slot, seen, start, raised (the floor when the slot changes hands), held, crowded.
inline enter() {
  atomic {
    FIND;
    held = (slot != NONE);
    crowded = false;
    if
    :: held -> seen = word[slot]; start = seen
    :: else ->
      raised = floor;
      start = (is_fresh(floor, n) -> 0 : floor);
      seen = word[0];
      slot = (is_fresh(seen, n) -> 0 : NONE)
    fi
  };
  if
  :: held
  :: else ->
    if
    :: slot == NONE -> atomic { seen = word[1]; slot = (is_fresh(seen, n) -> 1 : NONE) }
    :: else
    fi;
    if
    :: slot != NONE -> raised = (start != 0 -> start : most(raised, seen))
    :: else ->
      atomic { seen = word[0]; slot = 0 };
      atomic { slot = (word[1] < seen -> 1 : 0); seen = (slot == 1 -> word[1] : seen) };
#ifdef REFUSE
      crowded = true
#else
      atomic {
#ifndef FLOOR_FORGETS
        start = most(start, seen);
#endif
        raised = start
      }
#endif
    fi
  fi
}

// Changes the word of a held key under the lock.
inline write() {
  lock_at();
  ok = false;
  if
  :: locked ->
    atomic {
      REPLACE(next);
      if
      :: ok && amends ->
        for (i : 0 .. CALLERS - 1) { lowered[i] = lowered[i] || looked_at[i] == slot }
        i = 0;
        oracle_amends()
      :: ok && !amends -> oracle_admits()
      :: else -> wrote = false
      fi
    };
    atomic {
      tag[slot] = (ok && forgets -> 0 : tag[slot]);
      UNLOCK
    }
  :: else
  fi
}

inline bring_in() {
  lock_at();
  ok = false;
  if
  :: locked ->
#ifdef NO_BUSY
    ok = true;
#else
    atomic { REPLACE(BUSY) };
#ifdef CLAIM_IGNORED
    ok = true;
#endif
#endif
    if
    :: ok ->
#if defined(WORD_BEFORE_TAG)
      atomic { floor = raised; word[slot] = next; oracle_admits() };
      atomic { tag[slot] = key; UNLOCK }
#elif defined(UNLOCKED_EARLY)
      atomic { floor = raised; tag[slot] = key; UNLOCK };
      atomic { word[slot] = next; oracle_admits() }
#else
      atomic { floor = raised; tag[slot] = key };
      atomic { word[slot] = next; oracle_admits(); UNLOCK }
#endif
    :: else -> atomic { wrote = false; UNLOCK }
    fi
  :: else
  fi
}

inline refuse() {
  assert(!wrote);
#ifdef EXACT
  assert(coincided || refusable[me])
#endif
}

inline settle() {
  do
  :: attempt();
    if
    :: what != overtaken -> break
    :: else
    fi
  od;
  if
  :: what == changed
  :: what == unchanged -> refuse()
  :: what == elsewhere ->
    ok = false;
    do
    :: read_begin();
      enter();
#ifdef LOCKS_TO_REFUSE
      lock_at();
      if
      :: locked && !fits(start, n) -> atomic { UNLOCK }; refuse(); break
      :: locked && fits(start, n) -> atomic { UNLOCK }
      :: else
      fi;
      version = lock;
#endif
      atomic {  // unchanged_since, and what is decided from what was read
#ifdef NO_UNCHANGED_CHECK
        what = elsewhere;
#else
        what = (lock == version -> elsewhere : overtaken);
#endif
        if
        :: what == elsewhere && (crowded || !fits(start, n)) -> what = unchanged
        :: else -> next = admitted(start, n)
        fi
      };
      if
      :: what == unchanged -> refuse(); break
      :: what == elsewhere && held -> write()
      :: what == elsewhere && !held -> bring_in()
      :: else
      fi;
      if
      :: ok -> what = changed; break
      :: else
      fi
    od
  fi
}

inline amend() {
  amends = true;
  ok = false;
  do
  :: read_begin();
    atomic {
      FIND;
      seen = (slot != NONE -> word[slot] : 0)
    };
    atomic {
#ifdef AMENDS_UNCHECKED
      what = elsewhere;
      version = lock - lock % 2;
#else
      what = (lock == version -> elsewhere : overtaken);
#endif
      next = (forgets -> 0 : refunded(seen, n))
    };
    if
    :: what == elsewhere && slot == NONE -> break
    :: what == elsewhere && slot != NONE -> write()
    :: else
    fi;
    if
    :: ok -> break
    :: else
    fi
  od;
  amends = false
}

// A caller makes so many calls: it forgets a key, or asks for a unit, which if admitted may be given back by one more.
proctype caller(byte me; byte calls) {
  byte key, n, slot, version, seen, start, raised, next, i;
  mtype what;
  bool locked, ok, held, crowded, wrote, amends, forgets;

  do
  :: calls == 0 -> break
  :: calls > 0 ->
    atomic {
      calls--;
      n = now;
#ifdef TICKS
      if
      :: me == 0 -> key = 1
      :: me == 1 -> key = 3
      :: me == 2 -> select(key : 1 .. KEYS)
      fi;
#else
      select(key : 1 .. KEYS);
#endif
      what = unchanged;
#ifdef EXACT
      key_of[me] = key; reading_of[me] = n; refusable[me] = !fits(oracle[key], n);
#endif
#ifdef FORGETS
      if
      :: forgets = true
      :: forgets = false
      fi
#endif
    };
    if
    :: forgets -> amend()
    :: else -> settle()
    fi;
    if
    :: !forgets && what == changed && calls > 0 -> calls--; amend()
    :: true
    fi;
    atomic {
      key = 0; n = 0; slot = 0; version = 0; seen = 0; start = 0; raised = 0; next = 0; what = elsewhere;
      locked = false; ok = false; held = false; crowded = false; wrote = false; forgets = false;
      looked_at[me] = NONE; lowered[me] = false;
#ifdef EXACT
      key_of[me] = 0; reading_of[me] = 0; refusable[me] = false
#endif
    }
  od
}

// Before: a shard that is empty, half empty or full of held keys, the first fresh, in use or used up; the third was
// dropped, or never seen.
init {
  atomic {
    if
    :: true
    :: tag[0] = 1;
      if
      :: word[0] = 0
      :: word[0] = now + 1
      :: word[0] = now + BURST
      fi;
      if
#ifdef EXACT
      :: true
#endif
      :: tag[1] = 2; word[1] = now + 1
      fi;
#ifndef EXACT
      if
      :: floor = 0
      :: floor = now + 1
      fi;
      oracle[3] = floor;
#endif
      oracle[1] = word[0];
      oracle[2] = word[1]
    fi;
    looked_at[0] = NONE; looked_at[1] = NONE; looked_at[2] = NONE;
    run caller(0, CALLS_0);
    run caller(1, CALLS_1);
    run caller(2, CALLS_2)
  }
#ifdef TICKS
  now = 2
#endif
}
