"""A Dask cluster to grade on: one of this machine's own, or one that is there already."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster, Security
from distributed.comm.addressing import parse_address, parse_host_port

from harness.cohort import worker
from harness.errors import UsageError
from harness.workers import free_gigabytes

CONNECT_SECONDS = 15
WORKERS_SECONDS = 60
TTL = "60s"
"""How long a worker may be silent before its submissions are given to others."""
SETTINGS = {"distributed.admin.low-level-log-length": 10, "distributed.logging.distributed": "critical"}
"""Dask keeps the last 1,000 messages of each connection, for its developers: here, submissions of 110 kB each."""


@contextmanager
def local(workers: int, ttl: str = TTL) -> Iterator[Client]:
    """Workers on this machine, and a scheduler in this process.

    Whoever may talk to a scheduler may run code in it, and any user of a machine may connect to its ports: so only the
    holders of a certificate that is made here, and kept in memory, are answered. Whatever ends the block, no process is
    left.
    """
    _quiet()
    with dask.config.set({**SETTINGS, "distributed.scheduler.worker-ttl": ttl}):
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, memory_limit=None, preload=worker.__name__,
            host="127.0.0.1", security=Security.temporary(), silence_logs=logging.CRITICAL,
            dashboard_address="127.0.0.1:0",
        )  # fmt: skip
        try:
            with Client(cluster) as client:
                yield client
        finally:
            cluster.close()


@contextmanager
def existing(address: str) -> Iterator[Client]:
    """The cluster of a scheduler that runs."""
    _quiet()
    try:
        scheme, place = parse_address(address)
        parse_host_port(place)
        if scheme not in ("tcp", "tls"):
            raise ValueError(f"{scheme}:// is neither tcp:// nor tls://")
        if scheme == "tls" and not Security().get_connection_args("client").get("ssl_context"):
            raise ValueError("Dask is told of no certificates: set distributed.comm.tls")
        with dask.config.set(SETTINGS):
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: no scheduler answers there ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            raise UsageError(
                f"--scheduler {address}: it has no workers; docs/instructor.md says how to start them"
            ) from None
        yield client


def _quiet() -> None:
    """What the loss of a worker or a scheduler means is told in this project's own words."""
    for name in ("distributed", "distributed.client"):  # Dask gives the second a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)


def default_workers() -> int:
    """One for each core, as far as memory goes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, free_gigabytes()))
