"""The lecture's policy gradient: Adam on float32 logits, PyTorch's global generator."""

import numpy as np
import torch


def reinforce_loss(logits, y, r, log_ref, beta):
    """REINFORCE with the KL penalty in the reward and the batch mean as baseline."""
    log_pi = torch.log_softmax(logits, dim=0)[y]
    reward = r[y] - beta * (log_pi - log_ref[y]).detach()
    return -((reward - reward.mean()) * log_pi).mean()


def train_rlhf_pg(r, pi_ref, beta, steps=3000, batch=64, lr=0.05, seed=0):
    """Draw a batch, step along its gradient, and again."""
    torch.manual_seed(seed)
    log_ref = torch.tensor(np.log(pi_ref), dtype=torch.float32)
    rewards = torch.tensor(r, dtype=torch.float32)
    logits = log_ref.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=lr)
    for _ in range(steps):
        policy = torch.softmax(logits, dim=0).detach()
        drawn = torch.multinomial(policy, batch, replacement=True)
        optimizer.zero_grad()
        reinforce_loss(logits, drawn, rewards, log_ref, beta).backward()
        optimizer.step()
    return torch.softmax(logits, dim=0).detach().numpy()
